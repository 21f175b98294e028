"""MCP servers: configured, connected, their tools offered, and what came of each call."""
