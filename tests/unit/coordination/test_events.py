"""The audit trail and its reader."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import StateUnwritable
from coordination.events import EventLog, EventTail

if TYPE_CHECKING:
    from coordination.team_root import Team
    from tests.support.clock import FakeClock


@pytest.fixture
def log(team: Team) -> EventLog:
    return EventLog(team.directory, team.clock, "lead~1")


@pytest.fixture
def tail(team: Team) -> EventTail:
    return EventTail(team.directory)


def events_file(team: Team, who: str = "lead~1") -> Path:
    return team.root / layout.events(who)


def test_an_event_says_when_who_and_what(log: EventLog, tail: EventTail) -> None:
    log.record("task_claimed", task="task_00000001", token=3)
    assert tail.read_new() == [
        {
            "at": "2026-01-02T03:04:05.000Z",
            "who": "lead~1",
            "action": "task_claimed",
            "task": "task_00000001",
            "token": 3,
        }
    ]


def test_each_event_is_read_once(log: EventLog, tail: EventTail) -> None:
    log.record("one")
    assert [event["action"] for event in tail.read_new()] == ["one"]
    assert tail.read_new() == []
    log.record("two")
    assert [event["action"] for event in tail.read_new()] == ["two"]


def test_events_of_all_processes_come_in_the_order_of_their_times(
    team: Team, log: EventLog, tail: EventTail, clock: FakeClock
) -> None:
    worker = EventLog(team.directory, clock, "alice~2")
    for source, action in ((log, "a"), (worker, "b"), (log, "c"), (worker, "d")):
        source.record(action)
        clock.advance(1)
    assert [event["action"] for event in tail.read_new()] == ["a", "b", "c", "d"]


def test_text_that_is_no_utf8_and_values_that_are_no_json_are_written_all_the_same(
    log: EventLog, tail: EventTail
) -> None:
    log.record("odd", text="a\ud800b\nc", path=Path("x/y"))
    assert [(event["text"], event["path"]) for event in tail.read_new()] == [("a?b\nc", "x/y")]


def test_a_torn_last_line_waits_for_its_end(team: Team, log: EventLog, tail: EventTail) -> None:
    log.record("one")
    line = json.dumps({"action": "two"}).encode()
    with events_file(team).open("ab") as file:
        file.write(line[:9])
    assert len(tail.read_new()) == 1
    with events_file(team).open("ab") as file:
        file.write(line[9:] + b"\n")
    assert [event["action"] for event in tail.read_new()] == ["two"]


def test_a_torn_line_that_the_next_one_ended_is_passed_over(
    team: Team, log: EventLog, tail: EventTail
) -> None:
    with events_file(team).open("ab") as file:
        file.write(b'{"action": "lo')
    log.record("two")
    assert [event["action"] for event in tail.read_new()] == ["two"]
    assert tail.bad_lines == 1


@pytest.mark.parametrize("junk", [b"hello", b"[1]", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_foreign_line_is_counted_and_passed_over(
    team: Team, log: EventLog, tail: EventTail, junk: bytes
) -> None:
    events_file(team).write_bytes(junk + b"\n")
    log.record("two")
    assert [event["action"] for event in tail.read_new()] == ["two"]
    assert tail.bad_lines == 1


def test_more_than_one_chunk_is_read_at_once(log: EventLog, tail: EventTail) -> None:
    for _ in range(3):
        log.record("big", text="x" * 700_000)
    assert len(tail.read_new()) == 3


def test_a_file_that_was_cut_is_read_from_its_beginning(team: Team, log: EventLog, tail: EventTail) -> None:
    log.record("a long one that will be gone")
    tail.read_new()
    events_file(team).write_bytes(b'{"action": "new"}\n')
    assert [event["action"] for event in tail.read_new()] == ["new"]


def test_names_that_are_no_event_files_hinder_nobody(team: Team, log: EventLog, tail: EventTail) -> None:
    os.mkfifo(events_file(team, "pipe~1"))
    events_file(team, "dir~1").mkdir()
    (team.root / layout.EVENTS / "notes.txt").write_text("hello", encoding="utf-8")
    log.record("one")
    assert len(tail.read_new()) == 1


def test_a_team_without_events_has_none(team: Team, tail: EventTail) -> None:
    (team.root / layout.EVENTS).rmdir()
    assert tail.read_new() == []


def test_an_event_that_cannot_be_written_is_told(team: Team, log: EventLog) -> None:
    events_file(team).mkdir()
    with pytest.raises(StateUnwritable):
        log.record("one")


def test_a_closed_log_opens_again(log: EventLog, tail: EventTail) -> None:
    log.record("one")
    log.close()
    log.record("two")
    log.close()
    assert len(tail.read_new()) == 2
