"""The schedule on disk: entries, and the times at which they fired."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.numbered_log import Record
from coordination.protocols import TermOver
from coordination.schedule import EntryOver, Schedule, UnknownEntry
from coordination.schedule_rules import (
    Entry,
    EntryRules,
    EntryState,
    OccurrenceRules,
    OccurrenceState,
    Rank,
    due_time,
)

if TYPE_CHECKING:
    from coordination.team_root import Team

NINE = datetime(2026, 1, 3, 9, tzinfo=UTC)


@pytest.fixture
def schedule(team: Team) -> Schedule:
    return Schedule(team, "lead~1", lambda: 1)


def daily(schedule: Schedule, **details: Any) -> Entry:
    return schedule.add("stand up", Rank.REQUEST, cron="0 9 * * *", **details)


def test_an_entry_is_found_by_everybody(team: Team, schedule: Schedule) -> None:
    entry = daily(schedule, made_in="user")
    assert layout.ENTRY_ID.fullmatch(entry.id)
    assert (entry.made_by, entry.made_in, entry.state) == ("lead~1", "user", EntryState.ACTIVE)
    assert Schedule(team, "person").all() == [entry]


def test_two_entries_have_two_ids(schedule: Schedule) -> None:  # T77
    assert daily(schedule).id != daily(schedule).id
    assert len(schedule.all()) == 2


def test_a_cancelled_entry_is_over_for_good(schedule: Schedule) -> None:  # T18
    entry = daily(schedule)
    schedule.fire(entry.id, NINE)
    schedule.end(entry.id, EntryState.CANCELLED)
    assert (schedule.active(), schedule.due()) == ([], [])
    with pytest.raises(EntryOver, match="is cancelled already"):
        schedule.end(entry.id, EntryState.DONE)


@pytest.mark.parametrize("entry", ["cron_00000000", "../lead", ""])
def test_an_unknown_entry_is_an_error_that_lists_the_known(schedule: Schedule, entry: str) -> None:
    known = daily(schedule)
    with pytest.raises(UnknownEntry, match=f"known are: {known.id}"):
        schedule.end(entry, EntryState.CANCELLED)


def test_what_is_not_durable_counts_in_its_term_only(team: Team, schedule: Schedule) -> None:
    entry = daily(schedule, durable=False)
    assert schedule.active() == [entry]
    assert Schedule(team, "lead~2", lambda: 2).active() == []


def test_one_time_fires_once_and_is_delivered_once(team: Team, schedule: Schedule) -> None:  # T138
    entry = daily(schedule)
    first, again = schedule.fire(entry.id, NINE), schedule.fire(entry.id, NINE)
    assert first == again
    assert (due_time(first), schedule.due()) == (NINE, [first])
    schedule.delivered(entry.id, first.due)
    assert schedule.fire(entry.id, NINE).state is OccurrenceState.DELIVERED
    other = Schedule(team, "lead~1", lambda: 1)
    assert (other.due(), len(other.occurrences(entry.id))) == ([], 1)


def test_a_lead_whose_term_is_over_delivers_nothing(team: Team, schedule: Schedule) -> None:
    occurrence = schedule.fire(daily(schedule).id, NINE)
    Schedule(team, "lead~2", lambda: 2).stamp(occurrence)
    with pytest.raises(TermOver):
        schedule.delivered(occurrence.entry, occurrence.due)


def test_a_bad_entry_is_reported_and_the_rest_runs(team: Team, schedule: Schedule) -> None:  # W36
    good = daily(schedule)
    planted = team.root / layout.schedule_log("cron_0000000b")
    planted.mkdir()
    (planted / "1.json").write_text("{torn", encoding="utf-8")
    (planted.parent / "notes.txt").touch()
    assert Schedule(team, "lead~1", lambda: 1).active() == [good]
    fresh = Schedule(team, "lead~1", lambda: 1)
    fresh.all()
    assert "no JSON" in fresh.problems["cron_0000000b"]


@pytest.mark.parametrize(
    "changes", [{"id": "cron_00000000"}, {"prompt": "other"}, {"state": "active"}, {"at": "x"}], ids=str
)
def test_a_record_of_an_entry_that_breaks_the_rules_does_not_count(
    schedule: Schedule, changes: dict[str, Any]
) -> None:
    entry = daily(schedule)
    body = {**entry.to_json(), "state": "done", **changes}
    with pytest.raises(InvalidRecord):
        EntryRules(entry.id).check(entry, Record(number=2, prev=1, commit_id="c", body=body))


@pytest.mark.parametrize(
    "changes", [{"entry": "cron_00000000"}, {"due": "20260101T000000Z"}, {"term": 0}], ids=str
)
def test_a_record_of_an_occurrence_that_breaks_the_rules_does_not_count(
    schedule: Schedule, changes: dict[str, Any]
) -> None:
    occurrence = schedule.fire(daily(schedule).id, NINE)
    rules = OccurrenceRules(occurrence.entry, occurrence.due)
    body = {**occurrence.to_json(), "state": "delivered"}
    with pytest.raises(InvalidRecord):
        rules.check(occurrence, Record(number=2, prev=1, commit_id="c", body={**body, **changes}))
    with pytest.raises(InvalidRecord, match="never due"):
        rules.check(None, Record(number=1, prev=0, commit_id="c", body=body))


def test_an_occurrence_at_no_time_of_the_calendar_does_not_count(schedule: Schedule) -> None:
    occurrence = schedule.fire(daily(schedule).id, NINE)
    never = "20260230T250000Z"
    assert layout.DUE.fullmatch(never)
    body = occurrence.to_json() | {"due": never}
    with pytest.raises(InvalidRecord, match="is no time"):
        OccurrenceRules(occurrence.entry, never).check(
            None, Record(number=1, prev=0, commit_id="c", body=body)
        )
