"""An MCP server for the demo: what a library of the shop says about itself."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server import MCPServer

PAGES = {
    "rounding": "Read a price with round(float(text) * 100); int() cuts a cent off some prices.",
    "format": "Show cents as f'{cents / 100:.2f}', always with two digits.",
    "discounts": "A discount for many begins at exactly the number that is written on the shelf.",
}
server = MCPServer("docs", version="1.0.0", instructions="Search before you guess.")


@dataclass
class Hits:
    """The pages that fit, by title."""

    hits: dict[str, str]


@dataclass
class Version:
    """Of the library that the pages are about."""

    version: str


@server.tool()
def search(words: str) -> Hits:
    """Find pages about these words."""
    wanted = words.casefold().split()
    found = {
        title: text for title, text in PAGES.items() if any(w in (title + text).casefold() for w in wanted)
    }
    return Hits(hits=found)


@server.tool()
def get_version() -> Version:
    """The version of the library."""
    return Version(version="3.2.1")


if __name__ == "__main__":
    server.run("stdio")
