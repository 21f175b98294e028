"""MCP servers that the agents of one host share: the process that holds them, and the way there."""
