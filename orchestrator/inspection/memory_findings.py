"""What is wrong, or worth a look, in the files of the team's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.finding import note, warning
from harness.memory.credentials import credentials_in
from harness.memory.relevance import likeness
from harness.memory.store import MemoryStore
from harness.settings.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coordination.finding import Finding
    from coordination.team_root import Team
    from harness.memory.record import Record
    from harness.memory.store import Look

TWINS = 0.7  # share of their words from which two records are told as alike
NEARLY_FULL = 0.9  # of what the memory may hold


def inspect_memory(team: Team) -> Iterator[Finding]:
    """Bad files, credentials, twins, records from elsewhere, merges that were cut, and a full memory."""
    look = MemoryStore(team.directory).look()
    for unusable in look.unusable:
        yield warning(
            "memory_unusable",
            layout.memory(unusable.file),
            unusable.why,
            why="nobody can recall it",
            repair="nothing; mend the file, or remove it",
        )
    for record in look.records:
        yield from _of_record(record)
    yield from _twins(look.records)
    for record in look.replaced:
        yield note(
            "memory_replaced",
            layout.memory(record.file),
            "it was merged into another record",
            why="nobody is shown it any more",
            repair="nothing; the next lead puts the file away",
        )
    yield from _room(look, team)


def _of_record(record: Record) -> Iterator[Finding]:
    place = layout.memory(record.file)
    for text in record.warnings:
        yield note(
            "memory_field",
            place,
            text,
            why="it is recalled, although not quite as its author meant it",
            repair="nothing; mend the field",
        )
    if kinds := credentials_in(f"{record.note.name}\n{record.note.description}\n{record.note.body}"):
        yield warning(
            "memory_credential",
            place,
            f"it seems to hold a credential ({', '.join(kinds)})",
            why="agents are shown records, although without what looks like a credential",
            repair=f"nothing; edit the file, or `leadhand memory forget {record.id}`",
        )
    if record.note.untrusted:
        yield note(
            "memory_untrusted",
            place,
            f"it was noted after {record.note.untrusted} was read",
            why="words from elsewhere may have got into it; agents are shown it as such",
            repair=f"nothing; read it, and `leadhand memory forget {record.id}` if it is not to stay",
        )


def _twins(records: Sequence[Record]) -> Iterator[Finding]:
    for at, record in enumerate(records):
        for other in records[at + 1 :]:
            if likeness(record.note.body, other.note.body) >= TWINS:
                yield note(
                    "memory_twins",
                    layout.memory(other.file),
                    f"it says much the same as {record.id}",
                    why="both take up room in the conversations that recall them",
                    repair="nothing; `leadhand memory forget` one of them",
                )


def _room(look: Look, team: Team) -> Iterator[Finding]:
    settings = load_settings(team.root)
    for used, limit, name in (
        (len(look.records), settings.memory_records, "memory.records"),
        (look.characters, settings.memory_characters, "memory.characters"),
    ):
        if used >= limit * NEARLY_FULL:
            yield warning(
                "memory_full",
                layout.MEMORY,
                f"{used} of {limit} are in use ({name})",
                why="new records are refused once it is full",
                repair=f"nothing; `leadhand memory forget` makes room, or raise {name}",
            )
