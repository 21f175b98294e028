"""An MCP server of the present protocol, by the SDK: `python modern.py` over stdio, with a port over HTTP."""

from __future__ import annotations

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # noqa: TC002 - read by the SDK

server = MCPServer("modern", version="2.0")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one tool more."""

    def more() -> str:
        """More."""
        return "more"

    server.add_tool(more)
    await ctx.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
