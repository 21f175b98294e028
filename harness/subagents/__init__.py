"""Sub-agents: one-shot conversations on behalf of an agent, with fewer tools and under its gates."""
