"""A small MCP server over stdio: notes in a directory, one tool to find them and one to add to them."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("notes", version="0.1.0", instructions="Find a note before you add to it.")
place = Path(sys.argv[1] if len(sys.argv) > 1 else "notes")


class Note(BaseModel):
    """One note; its name is the name of its file without the ending."""

    name: str
    text: str


class Found(BaseModel):
    """What a search came to."""

    notes: list[Note]
    total: int


def path_of(name: str) -> Path:
    if not name.replace("-", "").isalnum():
        raise ToolError(f"{name!r} is no name of a note; use letters, digits and hyphens")
    return place / f"{name}.md"


@server.tool()
def find_notes(words: str, limit: int = 20) -> Found:
    """Find notes that hold all of these words. Returns the notes and how many there are in all."""
    wanted = words.casefold().split()
    notes = [Note(name=path.stem, text=path.read_text("utf-8")) for path in sorted(place.glob("*.md"))]
    found = [note for note in notes if all(word in note.text.casefold() for word in wanted)]
    return Found(notes=found[:limit], total=len(found))


@server.tool()
def add_to_note(name: str, line: str) -> Note:
    """Add a line to a note, which is made if there is none. A line that is there is not added again."""
    path = path_of(name)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    if line not in lines:
        place.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, line, ""]), "utf-8")
    return Note(name=name, text=path.read_text("utf-8"))


if __name__ == "__main__":
    server.run("stdio")
