"""The lines of a mailbox: from the bytes of one sender's file to messages, without a disk."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.json_form import json_object
from coordination.records import Message

if TYPE_CHECKING:
    from typing import Self

PERSON = "person"
PERSON_SOURCE = re.compile(r"person~[A-Za-z0-9._-]{1,128}")
ONE_CALL = re.compile(r"person~.+-[0-9a-f]{12}")  # written by one call of a command
UNDELIVERABLE = "undeliverable"  # type of the message that brings back what could not be delivered
BRANCH_MOVED = "branch_moved"  # type of the message that tells what a merge changed
NO_ANSWER = "no_answer"  # type of the message that tells a teammate to wait no longer
LINE_BYTES = 1 << 20  # the longest line that is sent and read


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One message at its place; its journal line, once durable, is the delivery and the position."""

    source: str  # the sending process as its file is called: `alice~7`, `person~host`
    offset: int  # where its line begins in the source
    end: int  # where the next line begins
    message: Message
    proven: bool  # the sender is on the roster; false for a person's file
    passed: dict[str, int] = {}  # sources to ends: lines seen before this one that repeat delivered ones

    def to_json(self) -> dict[str, Any]:
        """The fields that the journal line of this delivery carries."""
        passed = {"passed": self.passed} if self.passed else {}
        place = {"source": self.source, "offset": self.offset, "end": self.end, "proven": self.proven}
        return {**place, **passed, "message": self.message.to_json()}

    def shown(self) -> bytes:
        """The line that people see of it."""
        if self.proven:
            return self.message.encode()
        return msgspec.json.encode(self.message.to_json() | {"proven": False})

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Self:
        """The delivery in a journal line, whatever else the line carries. Raises InvalidRecord."""
        try:
            fields = {key: raw[key] for key in ("source", "offset", "end", "proven")}
            message = Message.from_json(raw["message"])
            return msgspec.convert(fields | {"message": message, "passed": raw.get("passed", {})}, cls)
        except (KeyError, AttributeError, msgspec.ValidationError) as error:
            raise InvalidRecord(why=f"no delivery ({error})") from error


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a source, without its newline."""

    offset: int
    end: int
    text: bytes


@lru_cache(maxsize=1024)
def split_source(source: str) -> tuple[str, int] | None:
    """Name and incarnation of a sender's file; `person`, 0 for a person's; None for anything else."""
    if PERSON_SOURCE.fullmatch(source):
        return PERSON, 0
    return layout.split_bearer(source)


def sender_name(source: str) -> str:
    """The name that a source bears in whatever incarnation."""
    parts = split_source(source)
    return parts[0] if parts else source


def known_as(message: Message) -> tuple[str, str]:
    """By what a receiver knows a message again: the name of its sender, and its id."""
    return sender_name(message.sender), message.id


def is_person(source: str) -> bool:
    return source.startswith(f"{PERSON}~")


def is_one_call(source: str) -> bool:
    """True for a person's file that never grows once its one call is over."""
    return ONE_CALL.fullmatch(source) is not None


def take_lines(data: bytes, offset: int, *, by_hand: bool) -> tuple[list[Line], int]:
    """The lines of `data`, which begins at `offset`, and where to read on.

    The last line waits for its newline, but for a complete one that a person wrote. A line that
    does not fit into `LINE_BYTES` is given in pieces without text. Blank lines only separate.
    """
    *texts, tail = data.split(b"\n")
    lines, begin = [], offset
    for text in texts:
        end = begin + len(text) + 1
        if text.strip():
            lines.append(Line(offset=begin, end=end, text=text))
        begin = end
    if len(tail) == LINE_BYTES:
        return [Line(offset=offset, end=offset + LINE_BYTES, text=b"")], offset + LINE_BYTES
    if by_hand and json_object(tail) is not None:
        end = begin + len(tail)
        return [*lines, Line(offset=begin, end=end, text=tail)], end
    return lines, begin


def parse(line: Line, *, source: str, to: str, start: int | None) -> Message:
    """The message of a line, its sender taken from the file.

    A line by a person needs only `content`. Raises InvalidRecord for everything that is no message
    from that source to the bearer of `to` with that `starting` record; None stands for any.
    """
    message = Message.decode(line.text) or Message.from_json(_filled_in(line, source, to, start))
    if message.sender != source and not (message.sender == PERSON and is_person(source)):
        raise InvalidRecord(why=f"it claims to be from {message.sender}")
    if message.to != to:
        raise InvalidRecord(why=f"it is addressed to {message.to}")
    if start is not None and message.to_start != start:
        raise InvalidRecord(why="it is for another bearer of the name")
    return message if message.sender == source else msgspec.structs.replace(message, sender=source)


def _filled_in(line: Line, source: str, to: str, start: int | None) -> dict[str, Any]:
    raw = json_object(line.text)
    if raw is None:
        raise InvalidRecord(why="no JSON object" if line.text else f"longer than {LINE_BYTES} bytes")
    raw = {"from": source} | raw
    if not is_person(source):
        return raw
    # Offset and content make the id, so that a file an editor wrote anew repeats nothing.
    mark = hashlib.sha256(line.text).hexdigest()[:8]
    given = {"id": f"{source}:{line.offset}:{mark}", "seq": 0, "type": "message", "sent_at": ""}
    return given | {"to": to, "to_start": start or 0} | raw
