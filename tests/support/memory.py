"""Records of a team's memory, as its members and people make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.memory.record import Kind, Note
from harness.memory.store import MemoryStore

if TYPE_CHECKING:
    from coordination.team_root import Team
    from harness.memory.record import Record


def a_note(name: str, body: str = "", **fields: Any) -> Note:
    """Noted by alice, unless the fields say otherwise."""
    given = {"kind": Kind.PROJECT, "description": f"about {name}", "made_by": "alice~7"} | fields
    return Note(name=name, body=body or f"The body of {name}.", **given)


def keeps(team: Team, *notes: Note) -> list[Record]:
    """The notes are in the team's memory."""
    return [MemoryStore(team.directory).add(note) for note in notes]


def by_hand(team: Team, file: str, text: str | bytes) -> None:
    """A person has put a file there."""
    place = team.root / ".memory"
    place.mkdir(exist_ok=True)
    (place / file).write_bytes(text if isinstance(text, bytes) else text.encode())


def kept(team: Team) -> list[Record]:
    """What counts now."""
    return MemoryStore(team.directory).look().records
