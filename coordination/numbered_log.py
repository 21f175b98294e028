"""The one mechanism for what can be contested: a change from state n is a file n+1, made by link.

Exactly one link wins a number on every file system tried, with no lock and no clock; the number is
the fencing token. What a record must satisfy are the rules that the owner of the log passes in: a
pure function of the state below and the record, used alike by writer and reader.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord, NewerFormat, NotRegularFile, StateUnwritable
from coordination.files import READ_PATIENCE_SECONDS

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping

    from coordination.files import StateDirectory

FORMAT = 1
ENVELOPE = ("format", "log", "number", "prev", "commit_id", "digest")
_ATTEMPTS_WITHOUT_WINNER = 5  # it was seen that nobody wins a creation (GlusterFS, 1 in 400)

logger = logging.getLogger(__name__)
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """One immutable file of a log, its envelope taken off."""

    number: int
    prev: int  # the number it was made from; 0 for the first
    commit_id: str
    body: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.commit_id == other.commit_id

    def __hash__(self) -> int:
        return hash(self.commit_id)


class LogRules(Protocol[S]):
    """What the records of one kind of log must satisfy, and what they add up to."""

    def check(self, state: S | None, record: Record) -> None:
        """Raise InvalidRecord unless the record may follow that state; change nothing, ask nobody else."""
        ...

    def apply(self, state: S | None, record: Record) -> S:
        """The state after a record that passed `check`; may reuse and change the one before."""
        ...


def digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON (sorted keys, no spaces, UTF-8) without the digest itself."""
    content = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def seal(log: str, body: Mapping[str, Any], *, number: int, prev: int, commit_id: str) -> dict[str, Any]:
    """The document of a record: the body first, as people read it, then the envelope."""
    document = {key: value for key, value in body.items() if key not in ENVELOPE}
    document |= {"format": FORMAT, "log": log, "number": number, "prev": prev, "commit_id": commit_id}
    return document | {"digest": digest(document)}


def pretty(document: Mapping[str, Any]) -> bytes:
    """The bytes of a document as people read it."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def unseal(log: str, number: int, data: bytes, path: str) -> Record:
    """The record in `data`. Raises InvalidRecord, or NewerFormat for a format not known here."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:  # too deep is planted
        raise InvalidRecord(why=f"no JSON ({error})") from error
    if not isinstance(document, dict):
        raise InvalidRecord(why="no JSON object")
    if document.get("format") != FORMAT:
        if isinstance(document.get("format"), int) and document.get("digest") == digest(document):
            raise NewerFormat(path=path, format=document["format"], version=document.get("version"))
        raise InvalidRecord(why="no known format")
    if (document.get("log"), document.get("number")) != (log, number):
        raise InvalidRecord(why=f"it belongs to {document.get('log')}/{document.get('number')}")
    if document.get("digest") != digest(document):
        raise InvalidRecord(why="its digest does not fit")
    prev, commit_id = document.get("prev"), document.get("commit_id")
    if not isinstance(prev, int) or isinstance(prev, bool) or not isinstance(commit_id, str):
        raise InvalidRecord(why="its envelope is incomplete")
    body = {key: value for key, value in document.items() if key not in ENVELOPE}
    return Record(number=number, prev=prev, commit_id=commit_id, body=body)


class NumberedLog(Generic[S]):
    """A log read forward as it grows, and its state: the fold over the valid records.

    `name` is the kind and id that each record must carry (`task/task_1f3a09bc`). An object belongs
    to one thread.
    """

    def __init__(self, directory: StateDirectory, path: str, *, name: str, rules: LogRules[S]) -> None:
        self.path = path
        self.name = name
        self.top = 0  # the last number of the unbroken row, invalid ones included
        self.newest: Record | None = None  # the highest valid record
        self.state: S | None = None
        self.invalid: dict[int, str] = {}  # number to reason
        self._directory = directory
        self._rules = rules

    @property
    def number(self) -> int:
        """That of the highest valid record; 0 before the first."""
        return self.newest.number if self.newest else 0

    def refresh(self) -> S | None:
        """Take in what others committed; the state is then that of the whole unbroken row.

        Costs one failing open when nothing is new. Raises StateUnreadable and NewerFormat.
        """
        while self._take(self.top + 1):
            pass
        return self.state

    def commit(self, draft: Callable[[S | None, int], Mapping[str, Any]]) -> S:
        """Commit what `draft` makes of the newest state and of the number it will have.

        Returns the state after it. When another process wins the number, `draft` is asked again
        with the new state; it may raise to give up. Ids inside the body must be made outside
        `draft`, so that nothing is added twice. Raises what `draft` raises, InvalidRecord when the
        body breaks the rules of the log, StateUnwritable when the disk refuses.
        """
        commit_id = secrets.token_hex(8)
        refused = 0
        while True:
            body = draft(self.refresh(), self.top + 1)
            record = Record(number=self.top + 1, prev=self.number, commit_id=commit_id, body=dict(body))
            self._check(record)
            error = self._publish(record)
            if error is None:
                return self._accept(record)
            if not self._take(record.number):
                refused += 1
                if refused >= _ATTEMPTS_WITHOUT_WINNER:
                    raise StateUnwritable.of(self.path, error) from error
            elif self.newest == record and self.state is not None:
                return self.state  # the link won and its reply was lost

    def records(self) -> Iterator[Record]:
        """Every valid record from the first, read anew: the history."""
        history = NumberedLog(self._directory, self.path, name=self.name, rules=self._rules)
        while history._take(history.top + 1):
            if history.newest and history.newest.number == history.top:
                yield history.newest

    def _publish(self, record: Record) -> OSError | None:
        if record.number == 1:
            self._directory.make(self.path)
        document = seal(
            self.name, record.body, number=record.number, prev=record.prev, commit_id=record.commit_id
        )
        return self._directory.publish(layout.record(self.path, record.number), pretty(document))

    def _take(self, number: int) -> bool:
        """Judge the record with this number, if there is one."""
        path = layout.record(self.path, number)
        if not self._directory.exists(path):
            return False
        try:
            record = self._read(number, path)
            self._check(record)
        except InvalidRecord as error:
            self.top = number
            self.invalid[number] = error.why
            logger.warning(
                "%s does not count: %s", path, error.why, extra={"action": "invalid_record", "path": path}
            )
        else:
            self._accept(record)
        return True

    def _read(self, number: int, path: str) -> Record:
        believed = InvalidRecord(why="")
        for _ in _readings(self._directory):
            try:
                return unseal(self.name, number, self._directory.read_patiently(path), path)
            except NotRegularFile as error:
                raise InvalidRecord(why="no regular file") from error
            except InvalidRecord as error:
                believed = error
        raise believed

    def _check(self, record: Record) -> None:
        if record.prev != self.number:
            raise InvalidRecord(why=f"made from {record.prev}, not from {self.number}")
        self._rules.check(self.state, record)

    def _accept(self, record: Record) -> S:
        self.top = record.number
        self.newest = record
        self.state = self._rules.apply(self.state, record)
        return self.state


def _readings(directory: StateDirectory) -> Iterator[None]:
    """A turn for each reading of a record that is not whole, before that is believed.

    Two at once; on a shared mount, where other hosts may for a moment see a file cut short, as many as fit
    into `READ_PATIENCE_SECONDS`: hosts that believe different records of one number never agree again.
    """
    yield
    yield
    deadline = directory.clock.monotonic() + READ_PATIENCE_SECONDS
    while directory.is_shared and directory.clock.monotonic() < deadline:
        directory.clock.sleep(0.05)
        yield


@dataclass(frozen=True, kw_only=True)
class LogKind(Generic[S]):
    """Logs of one kind, each of a thing with an id; the name of one is `<kind>/<id>`."""

    name: str
    parent: str  # directory in which each lies under its id
    ids: re.Pattern[str]
    rules: Callable[[str], LogRules[S]]

    def found(self, directory: StateDirectory) -> list[str]:
        """The ids that have a log, sorted. Raises StateUnreadable."""
        return sorted(key for key in directory.names(self.parent) if self.ids.fullmatch(key))

    def open(self, directory: StateDirectory, key: str) -> NumberedLog[S]:
        """The log of that id, not yet read."""
        path, name = f"{self.parent}/{key}", f"{self.name}/{key}"
        return NumberedLog(directory, path, name=name, rules=self.rules(key))


class Logs(dict[str, NumberedLog[S]]):
    """The logs of one kind by id, each opened when it is first asked for."""

    def __init__(self, directory: StateDirectory, kind: LogKind[S]) -> None:
        super().__init__()
        self._directory = directory
        self._kind = kind

    def __missing__(self, key: str) -> NumberedLog[S]:
        self[key] = log = self._kind.open(self._directory, key)
        return log

    def states(self) -> list[S]:
        """What all of them add up to, sorted by id; those without a valid record are left out."""
        states = [self[key].refresh() for key in self._kind.found(self._directory)]
        return [state for state in states if state is not None]
