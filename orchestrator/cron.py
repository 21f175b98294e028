"""The firing side of the schedule: due occurrences as news for the lead's conversation."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination import layout
from coordination.schedule import EntryOver
from coordination.schedule_rules import EntryState, Occurrence, OccurrenceState, Rank, due_time
from harness.cron_times import BadSchedule
from harness.journal import read
from harness.loop import Inbox, Incoming
from harness.off_loop import OffLoop
from harness.tools.schedule import due_now, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from coordination.clock import Clock
    from coordination.files import StateDirectory
    from coordination.schedule import Schedule
    from coordination.schedule_rules import Entry
    from harness.tool import Record

SCHEDULE_KIND = "schedule"  # of the journal line that says what fired
RETRY_SECONDS = 60.0  # after a turn in which no model replied; doubled each time
MOST_RETRY_SECONDS = 960.0


class Cron(Inbox):
    """What fires for one lead; it counts only once a model has replied to it."""

    def __init__(self, schedule: Schedule, *, clock: Clock, record: Record) -> None:
        """`schedule` belongs to this object alone."""
        self._schedule = schedule
        self._clock = clock
        self._record = record
        self._off_loop = OffLoop()
        self._handed: dict[tuple[str, str], str] = {}  # entry and due time to the text, without a reply yet
        self._reported: set[str] = set()  # entries whose fault was told
        self._failures = 0
        self._not_before = 0.0  # on the monotonic clock

    def recover(self, directory: StateDirectory, former: Iterable[str]) -> None:
        """What a model has replied to under an earlier lead is delivered. Blocks."""
        due = self._schedule.due()
        replied = set(_replied_to(directory, former)) if due else set()
        for occurrence in due:
            if f"{occurrence.entry}/{occurrence.due}" in replied:
                self._deliver(occurrence.entry, occurrence.due)

    async def take(self) -> list[Incoming]:
        """What fires now. Raises TermOver."""
        if self._clock.monotonic() < self._not_before:
            return []
        return await self._off_loop(self._take)

    async def answered(self) -> None:
        """The model has accepted a turn with what was taken. Raises TermOver."""
        if self._handed:
            self._failures = 0
            await self._off_loop(self._deliver_all)

    async def put_back(self) -> list[str]:
        """What was taken fires again after a while; its texts are to be withdrawn."""
        texts = list(self._handed.values())
        self._handed = {}
        if texts:
            wait = min(RETRY_SECONDS * 2**self._failures, MOST_RETRY_SECONDS)
            self._not_before = self._clock.monotonic() + wait
            self._failures += 1
        return texts

    def _take(self) -> list[Incoming]:
        now = self._schedule.wall_clock()
        entries = self._schedule.active()
        fired = [(entry, occurrence) for entry in entries for occurrence in self._fire(entry, now)]
        for name, why in self._schedule.problems.items():
            self._report(name, why)
        return [self._hand(entry, occurrence, now) for entry, occurrence in fired]  # all are on record by now

    def _fire(self, entry: Entry, now: datetime) -> list[Occurrence]:
        try:
            due = self._due(entry) or self._new(entry, now)
        except BadSchedule as error:
            self._report(entry.id, str(error))
            return []
        return [occurrence for occurrence in due if not self._is_handed(occurrence)]

    def _due(self, entry: Entry) -> list[Occurrence]:
        fired = self._schedule.occurrences(entry.id)
        return [occurrence for occurrence in fired if occurrence.state is OccurrenceState.DUE]

    def _new(self, entry: Entry, now: datetime) -> list[Occurrence]:
        fired = self._schedule.occurrences(entry.id)
        time = due_now(entry, due_time(fired[-1]) if fired else None, now)
        if time is None:
            return []
        occurrence = self._schedule.fire(entry.id, time)
        self._record("schedule_fired", entry=entry.id, due=occurrence.due)
        return [occurrence]

    def _is_handed(self, occurrence: Occurrence) -> bool:
        return (occurrence.entry, occurrence.due) in self._handed

    def _hand(self, entry: Entry, occurrence: Occurrence, now: datetime) -> Incoming:
        text = said(entry, occurrence, now)
        self._handed[occurrence.entry, occurrence.due] = text
        marks = {
            "occurrence": f"{occurrence.entry}/{occurrence.due}",
            "rank": "user" if entry.rank is Rank.REQUEST else "data",
        }
        return Incoming(text=text, kind=SCHEDULE_KIND, journal=marks)

    def _deliver_all(self) -> None:
        for entry, due in list(self._handed):
            self._deliver(entry, due)
            del self._handed[entry, due]

    def _deliver(self, entry: str, due: str) -> None:
        self._schedule.delivered(entry, due)
        self._record("schedule_delivered", entry=entry, due=due)
        if not self._schedule.get(entry).recurring:
            with suppress(EntryOver):  # cancelled meanwhile
                self._schedule.end(entry, EntryState.DONE)

    def _report(self, entry: str, why: str) -> None:
        if entry not in self._reported:
            self._reported.add(entry)
            self._record("schedule_fault", entry=entry, why=why)


def _replied_to(directory: StateDirectory, former: Iterable[str]) -> Iterator[str]:
    """The occurrences that a model has replied to, by the journals of earlier leads."""
    for bearer in former:
        waiting: list[str] = []
        for line in read(directory, layout.journal(bearer)):
            if line["kind"] == SCHEDULE_KIND:
                waiting.append(line["occurrence"])
            elif line["kind"] == "withdrawn":
                waiting.clear()
            elif line["kind"] == "assistant":
                yield from waiting
                waiting.clear()
