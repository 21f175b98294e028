"""Pure: one thing remembered, from and to the text of its file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING

import yaml

from harness.skills.frontmatter import Severity, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.skills.frontmatter import Value

FORMAT = 1
SUFFIX = ".md"
BY_HAND = "person"  # who made a file that names nobody


class Kind(StrEnum):
    """What a record is about."""

    USER = "user"  # the person: role, knowledge, preferences
    FEEDBACK = "feedback"  # how the person wants work to be done
    PROJECT = "project"  # facts and decisions that the repository does not tell
    REFERENCE = "reference"  # where something is to be found


@dataclass(frozen=True, kw_only=True)
class Note:
    """What is remembered, and where it comes from."""

    kind: Kind
    name: str
    description: str  # one line
    body: str
    made_by: str = BY_HAND  # the process (`alice~7`) in whose turn it was noted
    made_at: str = ""
    run: str = ""
    task: str = ""
    untrusted: str = ""  # what its conversation held from elsewhere
    replaces: tuple[str, ...] = ()  # `file@digest` of the records that were merged into it

    @property
    def seal(self) -> str:
        """Differs once a person has edited what was remembered."""
        words = f"{self.kind}\0{self.name}\0{self.description}\0{self.body}"
        return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def size(self) -> int:
        """Characters that a conversation takes in with it."""
        return len(self.name) + len(self.description) + len(self.body)


@dataclass(frozen=True, kw_only=True)
class Record:
    """A note in its file."""

    file: str  # name in the directory of the memory
    note: Note
    digest: str  # of the bytes of the file
    is_by_hand: bool  # a person made or edited it, so no model changes it
    warnings: tuple[str, ...] = ()  # what its author should look at

    @property
    def id(self) -> str:
        """Its file without the ending, as people name it."""
        return self.file.removesuffix(SUFFIX)

    @property
    def reference(self) -> str:
        """Its file with exactly these bytes."""
        return f"{self.file}@{self.digest}"


@dataclass(frozen=True)
class Unusable:
    """A file that holds no record."""

    file: str
    why: str


def text_of(note: Note) -> str:
    """The file of a note: a block of fields, then the body."""
    head = {"format": FORMAT, "type": str(note.kind), "name": note.name, "description": note.description}
    further = {each.name: getattr(note, each.name) for each in fields(note) if each.name in _PROVENANCE}
    head |= {
        name: list(value) if isinstance(value, tuple) else value for name, value in further.items() if value
    }
    block = yaml.safe_dump(head | {"seal": note.seal}, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{block}---\n\n{note.body}\n"


_PROVENANCE = ("made_by", "made_at", "run", "task", "untrusted", "replaces")


def record_of(file: str, data: bytes) -> Record | Unusable:
    """The record in a file; one without a block of fields is a note that a person wrote down."""
    if not data.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        data = b"---\n---\n" + data.removeprefix(b"\xef\xbb\xbf")
    document = parse(data)
    wrong = [problem.text for problem in document.problems if problem.severity is Severity.ERROR]
    number = _text(document.fields, "format") or str(FORMAT)
    if number != str(FORMAT):
        wrong.append(f"it has format {number}, which this version does not know")
    if not document.body.strip():
        wrong.append("there is nothing in it to remember")
    if wrong:
        return Unusable(file, wrong[0])
    return _record(file, digest_of(data), document.body.strip(), document.fields)


def digest_of(data: bytes) -> str:
    """What tells these bytes of a file from others."""
    return hashlib.sha256(data).hexdigest()[:16]


def _record(file: str, digest: str, body: str, head: Mapping[str, Value]) -> Record:
    """Every field that is missing has a sensible value, since people write these files too."""
    kind = _text(head, "type") or Kind.PROJECT
    known = kind in set(Kind)
    replaces = head.get("replaces")
    note = Note(
        kind=Kind(kind) if known else Kind.PROJECT,
        name=_text(head, "name") or file.removesuffix(SUFFIX),
        description=_text(head, "description") or next(_lines(body), ""),
        body=body,
        made_by=_text(head, "made_by") or BY_HAND,
        made_at=_text(head, "made_at"),
        run=_text(head, "run"),
        task=_text(head, "task"),
        untrusted=_text(head, "untrusted"),
        replaces=tuple(map(str, replaces)) if isinstance(replaces, list) else (),
    )
    warnings = () if known else (f"{kind!r} is no type; it counts as project (there are: {', '.join(Kind)})",)
    is_ours = note.made_by != BY_HAND and _text(head, "seal") == note.seal
    return Record(file=file, note=note, digest=digest, is_by_hand=not is_ours, warnings=warnings)


def _text(head: Mapping[str, Value], name: str) -> str:
    value = head.get(name, "")
    return " ".join(value.split()) if isinstance(value, str) else ""


def _lines(body: str) -> Iterator[str]:
    return (line.strip()[:200] for line in body.splitlines() if line.strip() and not line.startswith("#"))
