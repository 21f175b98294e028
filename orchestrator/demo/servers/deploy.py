"""An MCP server for the demo: one tool that looks, and one that must never run without a person."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server import MCPServer

server = MCPServer("deploy", version="1.0.0")


@dataclass
class Status:
    """What runs where."""

    environment: str
    release: str
    healthy: bool


@server.tool()
def status(environment: str) -> Status:
    """What runs in an environment, staging or production. Changes nothing."""
    return Status(environment=environment, release="41", healthy=True)


@server.tool()
def trigger(environment: str, release: str) -> str:
    """Bring a release out. Customers see it at once."""
    return f"release {release} is out in {environment}"


if __name__ == "__main__":
    server.run("stdio")
