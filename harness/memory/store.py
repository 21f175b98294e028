"""The records on disk: each a file of its own, made once; whoever makes one writes no other."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from coordination import layout
from coordination.errors import NotRegularFile, StateUnreadable, StateUnwritable, TeamError, cause_of
from harness.memory.record import SUFFIX, Record, Unusable, digest_of, record_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordination.files import StateDirectory
    from harness.memory.record import Note

FILE_BYTES = 64_000  # of one file; more is no record but a document
SLUG_CHARACTERS = 40
INDEX_HEAD = "Written by leadhand from the files beside it; edit those, or add one.\n\n"


@dataclass(eq=False)
class NoSuchRecord(TeamError):
    """No record has this name."""

    name: str
    known: str
    says = "there is no record {name}; known are {known}"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What lies in the memory at one moment."""

    records: list[Record] = field(default_factory=list)  # that count, oldest first
    replaced: list[Record] = field(default_factory=list)  # merged into one that counts, not yet put away
    unusable: list[Unusable] = field(default_factory=list)

    @property
    def characters(self) -> int:
        """What all that counts takes."""
        return sum(record.note.size for record in self.records)


class MemoryStore:
    """The memory of one team; an object keeps nothing, so any thread may use it."""

    def __init__(self, directory: StateDirectory) -> None:
        self._directory = directory

    def look(self) -> Look:
        """All of it as it is now; a file that cannot be used is told, and the rest goes on."""
        read = [self._read(file) for file in sorted(self._directory.names(layout.MEMORY)) if _is_record(file)]
        found = [each for each in read if isinstance(each, Record)]
        merged = {reference for record in found for reference in record.note.replaces}
        return Look(
            records=sorted(
                (record for record in found if record.reference not in merged),
                key=lambda record: (record.note.made_at, record.file),
            ),
            replaced=[record for record in found if record.reference in merged],
            unusable=[each for each in read if isinstance(each, Unusable)],
        )

    def find(self, name: str) -> Record:
        """The record of this name, or of the file or words that begin so. Raises NoSuchRecord."""
        records = self.look().records
        for fits in (
            lambda record: name in {record.id, record.file},
            lambda record: record.id.startswith(name),
        ):
            found = [record for record in records if fits(record)]
            if len(found) == 1:
                return found[0]
        raise NoSuchRecord(name=name, known=", ".join(record.id for record in records) or "none")

    def add(self, note: Note) -> Record:
        """The note is a record, durable, in a file that nobody had. Raises StateUnwritable."""
        self._directory.make(layout.MEMORY)
        data = text_of(note).encode("utf-8", "replace")
        while True:
            file = f"{_slug(note.name)}-{secrets.token_hex(4)}{SUFFIX}"
            error = self._directory.publish(layout.memory(file), data)
            if error is None or self._holds(file, data):
                break
            if not isinstance(error, FileExistsError):
                raise StateUnwritable.of(layout.memory(file), error) from error
        self._show()
        record = record_of(file, data)
        assert isinstance(record, Record)
        return record

    def forget(self, record: Record) -> bool:
        """The file is gone; False when it was before."""
        was_there = self._directory.unlink(layout.memory(record.file))
        self._show()
        return was_there

    def merge(self, note: Note, sources: Iterable[Record]) -> Record | None:
        """The note counts instead of its sources, whose files are put away among the replaced ones.

        None, and all stays as it was, where a source was edited or forgotten meanwhile.
        """
        sources = list(sources)
        merged = self.add(note)
        if not all(self.is_as_it_was(source) for source in sources):
            self.forget(merged)
            return None
        self.put_away(sources)
        return merged

    def put_away(self, records: Iterable[Record]) -> None:
        """The files are among the replaced ones, unless somebody changed them meanwhile."""
        self._directory.make(layout.REPLACED_MEMORY)
        for record in filter(self.is_as_it_was, records):
            data = self._directory.read_patiently(layout.memory(record.file))
            self._directory.publish(layout.replaced_memory(record.file), data)
            self._directory.unlink(layout.memory(record.file))
        self._show()

    def is_as_it_was(self, record: Record) -> bool:
        """True while its file holds the bytes that it was read from."""
        read = self._read(record.file)
        return isinstance(read, Record) and read.digest == record.digest

    @property
    def consolidated(self) -> set[str]:
        """Records that the lead's model has looked through already."""
        try:
            data = self._directory.read(layout.CONSOLIDATED)
            return set(msgspec.json.decode(data, type=list[str]))
        except (OSError, NotRegularFile, msgspec.DecodeError):  # looked through once more; no harm done
            return set()

    def note_consolidated(self, records: Iterable[Record]) -> None:
        """The lead's model has looked through these, and through none else."""
        names = sorted(record.file for record in records)
        self._directory.replace(layout.CONSOLIDATED, msgspec.json.encode(names))

    def _read(self, file: str) -> Record | Unusable:
        try:
            data, size = self._directory.read_from(layout.memory(file), 0, FILE_BYTES)
        except FileNotFoundError:
            return Unusable(file, "it has just been removed")
        except OSError as error:
            return Unusable(file, f"it cannot be read ({cause_of(error)})")
        except (NotRegularFile, StateUnreadable) as error:
            return Unusable(file, f"it cannot be read ({error})")
        if size > FILE_BYTES:
            return Unusable(file, f"it is longer than {FILE_BYTES} bytes")
        return record_of(file, data)

    def _holds(self, file: str, data: bytes) -> bool:
        read = self._read(file)
        return isinstance(read, Record) and read.digest == digest_of(data)

    def _show(self) -> None:
        """The index for people; a view that anybody may write, since it says what all can see."""
        lines = (
            f"- [{record.note.name}]({record.file}) - {record.note.description}"
            for record in self.look().records
        )
        self._directory.replace(
            layout.MEMORY_INDEX, (INDEX_HEAD + "\n".join(lines) + "\n").encode("utf-8", "replace")
        )


def _is_record(file: str) -> bool:
    is_index = layout.memory(file) == layout.MEMORY_INDEX
    return file.endswith(SUFFIX) and not file.startswith(".") and not is_index


def _slug(name: str) -> str:
    return "-".join(_words(name))[:SLUG_CHARACTERS].strip("-") or "note"


def _words(name: str) -> Iterator[str]:
    return (word.casefold() for word in re.findall(r"[A-Za-z0-9]+", name))
