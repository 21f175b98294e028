"""What a project tells agents that work in it: `AGENTS.md` and `CLAUDE.md`."""
