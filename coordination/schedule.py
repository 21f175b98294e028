"""What is to be said to the lead at which times: entries and their occurrences, each a numbered log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import TeamError
from coordination.identity import new_id
from coordination.json_form import scrub
from coordination.numbered_log import Logs
from coordination.protocols import term_to_write
from coordination.schedule_rules import (
    ENTRY,
    STAMP,
    Entry,
    EntryState,
    Missed,
    Occurrence,
    OccurrenceState,
    Rank,
    occurrence_kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team


class EntryDetails(TypedDict, total=False):
    """What an entry says beside its text."""

    cron: str | None
    at: str | None
    zone: str
    recurring: bool
    durable: bool
    missed: Missed
    made_in: str


@dataclass(eq=False)
class UnknownEntry(TeamError):
    """No schedule has this id."""

    entry: str
    known: str
    says = "there is no schedule {entry}; known are: {known}"


@dataclass(eq=False)
class EntryOver(TeamError):
    """The schedule is not active any more."""

    entry: str
    state: str
    says = "the schedule {entry} is {state} already"


class Schedule:
    """The schedule of the team; an object belongs to one thread."""

    def __init__(self, team: Team, actor: str, term: Callable[[], int] = lambda: 0) -> None:
        self.problems: dict[str, str] = {}  # entries that could not be read, since `all` was last called
        self._team = team
        self._actor = actor
        self._term = term
        self._entries = Logs(team.directory, ENTRY)
        self._occurrences: dict[str, Logs[Occurrence]] = {}  # by entry

    def wall_clock(self) -> datetime:
        """What the wall clock says: a schedule is about nothing else."""
        return self._team.clock.now()

    def add(self, prompt: str, rank: Rank, **details: Unpack[EntryDetails]) -> Entry:
        """The entry is on disk; whether its times make sense the caller has looked at."""
        now = iso(self._team.clock.now())
        entry = Entry(
            id=new_id("cron"),
            prompt=scrub(prompt),
            rank=rank,
            made_by=self._actor,
            term=term_to_write(self._actor, self._term(), 0),
            made_at=now,
            changed_at=now,
            **details,
        )
        return self._entries[entry.id].commit(lambda _state, _number: entry.to_json())

    def all(self) -> list[Entry]:
        """Every entry that can be read, oldest first; `problems` has the others."""
        self.problems = {}
        found = []
        for name in ENTRY.found(self._team.directory):
            log = self._entries[name]
            entry = log.refresh()
            if entry is not None:
                found.append(entry)
            elif log.invalid:
                self.problems[name] = log.invalid[max(log.invalid)]
        return sorted(found, key=lambda entry: (entry.made_at, entry.id))

    def active(self) -> list[Entry]:
        """The entries that may fire in the present term."""
        term = self._term()
        return [
            entry
            for entry in self.all()
            if entry.state is EntryState.ACTIVE and (entry.durable or entry.term == term)
        ]

    def get(self, entry: str) -> Entry:
        """The newest version. Raises UnknownEntry."""
        state = self._entries[entry].refresh() if layout.ENTRY_ID.fullmatch(entry) else None
        if state is None:
            self._entries.pop(entry, None)
            raise UnknownEntry(entry=entry, known=", ".join(known.id for known in self.all()) or "none")
        return state

    def end(self, entry: str, state: EntryState) -> Entry:
        """The entry does not fire any more. Raises UnknownEntry, EntryOver."""
        self.get(entry)

        def draft(before: Entry | None, _: int) -> dict[str, Any]:
            assert before is not None
            if before.state is not EntryState.ACTIVE:
                raise EntryOver(entry=entry, state=before.state)
            now = iso(self._team.clock.now())
            return msgspec.structs.replace(before, state=state, changed_at=now).to_json()

        return self._entries[entry].commit(draft)

    def occurrences(self, entry: str) -> list[Occurrence]:
        """The times at which the entry fired, in their order."""
        return self._logs_of(entry).states()

    def due(self) -> list[Occurrence]:
        """What active entries have fired and no model has accepted yet."""
        fired = (occurrence for entry in self.active() for occurrence in self.occurrences(entry.id))
        return [occurrence for occurrence in fired if occurrence.state is OccurrenceState.DUE]

    def fire(self, entry: str, due: datetime) -> Occurrence:
        """The entry has fired for this time, once however often it is said. Raises TermOver."""
        return self._say(entry, due.astimezone(UTC).strftime(STAMP), OccurrenceState.DUE)

    def stamp(self, occurrence: Occurrence) -> None:
        """A due occurrence has the term of a new lead, so that no earlier one can deliver it."""
        self._say(occurrence.entry, occurrence.due, OccurrenceState.DUE)

    def delivered(self, entry: str, due: str) -> Occurrence:
        """The model has accepted a turn with it. Raises TermOver."""
        return self._say(entry, due, OccurrenceState.DELIVERED)

    def _say(self, entry: str, due: str, after: OccurrenceState) -> Occurrence:
        log = self._logs_of(entry)[due]
        present = log.refresh()
        term = term_to_write(self._actor, self._term(), present.term if present else 0)
        if present and (
            present.state is OccurrenceState.DELIVERED or (present.state, present.term) == (after, term)
        ):
            return present

        def draft(state: Occurrence | None, _: int) -> dict[str, Any]:
            return Occurrence(
                entry=entry,
                due=due,
                state=after,
                term=term_to_write(self._actor, self._term(), state.term if state else 0),
                by=self._actor,
                changed_at=iso(self._team.clock.now()),
            ).to_json()

        return log.commit(draft)

    def _logs_of(self, entry: str) -> Logs[Occurrence]:
        if entry not in self._occurrences:
            self._occurrences[entry] = Logs(self._team.directory, occurrence_kind(entry))
        return self._occurrences[entry]
