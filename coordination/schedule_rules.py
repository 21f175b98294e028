"""One entry of the schedule and its occurrences: their records, and which may follow which."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.numbered_log import LogKind
from coordination.records import JsonRecord

if TYPE_CHECKING:
    from coordination.numbered_log import Record

STAMP = "%Y%m%dT%H%M%SZ"  # the due time in the name of an occurrence


class EntryState(StrEnum):
    """Where an entry of the schedule stands."""

    ACTIVE = "active"
    DONE = "done"  # a one-shot that was delivered
    CANCELLED = "cancelled"


class Missed(StrEnum):
    """What becomes of a time at which no lead was there."""

    SKIP = "skip"
    RUN_ONCE = "run_once"  # the last of those that were missed


class Rank(StrEnum):
    """As what its text enters the conversation."""

    REQUEST = "request"  # the person's word
    DATA = "data"  # made by a model that had read what others wrote


class Entry(JsonRecord, frozen=True, kw_only=True):
    """One schedule, one version of it: a cron expression or a point of time, and a text."""

    id: str
    prompt: str
    state: EntryState = EntryState.ACTIVE
    cron: str | None = None  # five fields
    at: str | None = None  # a point of time, instead
    zone: str = "UTC"
    recurring: bool = True
    durable: bool = True  # False: it counts only in the term in which it was made
    missed: Missed = Missed.SKIP
    rank: Rank
    made_by: str  # `lead~3` or `person`
    made_in: str = ""  # what woke the turn in which it was made
    term: int = 0
    made_at: str
    changed_at: str


class OccurrenceState(StrEnum):
    """Where one firing stands."""

    DUE = "due"
    DELIVERED = "delivered"  # the model has accepted a turn with it


class Occurrence(JsonRecord, frozen=True, kw_only=True):
    """One time at which an entry fired."""

    entry: str
    due: str  # its time as in the name of the log
    state: OccurrenceState
    term: int
    by: str
    changed_at: str


class EntryRules:
    """An entry is active, then done or cancelled for good; what it says does not change."""

    def __init__(self, entry: str) -> None:
        self._entry = entry

    def check(self, state: Entry | None, record: Record) -> None:
        entry = Entry.from_json(record.body)
        if entry.id != self._entry:
            raise InvalidRecord(why="the schedule has another id than its log")
        if (entry.cron is None) == (entry.at is None):
            raise InvalidRecord(why="a schedule has either `cron` or `at`")
        if state is None and entry.state is not EntryState.ACTIVE:
            raise InvalidRecord(why=f"a new schedule cannot be {entry.state}")
        if state and (state.state is not EntryState.ACTIVE or entry.state is EntryState.ACTIVE):
            raise InvalidRecord(why=f"a schedule that is {state.state} cannot become {entry.state}")
        if state and msgspec.structs.replace(entry, state=state.state, changed_at=state.changed_at) != state:
            raise InvalidRecord(why="what a schedule says does not change")

    def apply(self, state: Entry | None, record: Record) -> Entry:  # noqa: ARG002 - the protocol of a log
        return Entry.from_json(record.body)


class OccurrenceRules:
    """Due, with ever newer terms, then delivered once."""

    def __init__(self, entry: str, due: str) -> None:
        self._name = (entry, due)

    def check(self, state: Occurrence | None, record: Record) -> None:
        now = Occurrence.from_json(record.body)
        if (now.entry, now.due) != self._name:
            raise InvalidRecord(why="it belongs to another schedule or time")
        try:
            due_time(now)
        except ValueError as error:
            raise InvalidRecord(why=f"{now.due} is no time") from error
        if state is None:
            if now.state is not OccurrenceState.DUE:
                raise InvalidRecord(why="what was never due cannot be delivered")
        elif state.state is OccurrenceState.DELIVERED:
            raise InvalidRecord(why="it was delivered already")
        elif now.term < state.term:
            raise InvalidRecord(why=f"its term {now.term} is over, {state.term} came before it")

    def apply(self, state: Occurrence | None, record: Record) -> Occurrence:  # noqa: ARG002 - the protocol of a log
        return Occurrence.from_json(record.body)


ENTRY = LogKind(name="schedule", parent=layout.SCHEDULE, ids=layout.ENTRY_ID, rules=EntryRules)


def occurrence_kind(entry: str) -> LogKind[Occurrence]:
    """The logs of the times at which an entry fired."""
    return LogKind(
        name=f"occurrence/{entry}",
        parent=layout.occurrences(entry),
        ids=layout.DUE,
        rules=partial(OccurrenceRules, entry),
    )


def due_time(occurrence: Occurrence) -> datetime:
    """Its time."""
    return datetime.strptime(occurrence.due, STAMP).replace(tzinfo=UTC)
