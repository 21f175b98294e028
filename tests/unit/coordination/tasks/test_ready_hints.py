"""Hints: in what order they are taken, by whom, and how they are put right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.profile import GUARANTEES, Profile
from coordination.records import Status, Task
from coordination.tasks.ready_hints import ReadyHints

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.clock import FakeClock


@pytest.fixture
def hints(team: Team) -> ReadyHints:
    return ReadyHints(team)


def task(
    number: int, *, priority: int = 5, roles: tuple[str, ...] = (), reserved_for: str | None = None
) -> Task:
    return Task(
        id=f"task_{number:08x}",
        subject="work",
        status=Status.PENDING,
        priority=priority,
        roles=roles,
        reserved_for=reserved_for,
    )


def taken(hints: ReadyHints, name: str = "alice", role: str = "teammate") -> list[int]:
    return [int(task_id.removeprefix("task_"), 16) for task_id in hints.take(name, role)]


def test_hints_are_taken_by_priority_then_by_age(hints: ReadyHints) -> None:
    for place, (number, priority) in enumerate([(1, 5), (2, 3), (3, 5), (4, 0)]):
        hints.add(task(number, priority=priority), place)
    assert taken(hints) == [4, 2, 1, 3]


def test_a_hint_is_taken_once(hints: ReadyHints) -> None:
    hints.add(task(1), 0)
    assert taken(hints) == [1]
    assert taken(hints) == []


def test_a_role_sees_its_own_row_and_that_for_any_role_as_one(hints: ReadyHints) -> None:
    hints.add(task(1), 0)
    hints.add(task(2, roles=("reviewer",), priority=1), 1)
    hints.add(task(3, roles=("tester",), priority=0), 2)
    assert taken(hints, role="reviewer") == [2, 1]


def test_reserved_work_is_seen_by_its_member_alone_and_first(hints: ReadyHints) -> None:
    hints.add(task(1, priority=0), 0)
    hints.add(task(2, priority=9, reserved_for="alice"), 1)
    assert taken(hints, name="alice") == [2, 1]
    assert taken(hints, name="bob") == []


@pytest.mark.parametrize("profile", [Profile.LOCAL, Profile.FLOCK, Profile.UNLOCKED])
def test_what_others_add_is_seen_when_the_listing_is_old(
    team: Team, clock: FakeClock, profile: Profile
) -> None:
    team.mount.profile, old = profile, GUARANTEES[profile].listing_seconds
    mine, theirs = ReadyHints(team), ReadyHints(team)
    mine.add(task(1), 0)
    mine.add(task(2), 1)
    assert next(mine.take("alice", "teammate")) == task(1).id
    theirs.add(task(3, priority=0), 2)
    assert next(mine.take("alice", "teammate")) == task(2).id
    mine.add(task(4), 3)
    clock.advance(old * 0.9)
    mine.add(task(5, priority=0), 5)
    assert next(mine.take("alice", "teammate")) == task(5).id
    clock.advance(old * 0.2)
    assert next(mine.take("alice", "teammate")) == task(3).id


def test_a_used_up_listing_is_made_anew_at_once(team: Team) -> None:
    mine, theirs = ReadyHints(team), ReadyHints(team)
    assert taken(mine) == []
    theirs.add(task(1), 0)
    assert taken(mine) == [1]


def test_own_additions_are_seen_in_the_listing_in_use(hints: ReadyHints) -> None:
    hints.add(task(1), 0)
    hints.add(task(2), 1)
    assert next(hints.take("alice", "teammate")) == task(1).id
    hints.add(task(3, priority=0), 2)
    assert taken(hints) == [3, 2]


def test_hints_that_others_took_are_passed_over(team: Team) -> None:
    mine, theirs = ReadyHints(team), ReadyHints(team)
    for number in range(1, 6):
        mine.add(task(number), number)
    first = mine.take("alice", "teammate")
    assert next(first) == task(1).id
    assert len(taken(theirs, name="bob")) == 4
    assert list(first) == []


def test_after_a_miss_the_next_comes_from_the_same_priority(team: Team) -> None:  # W24
    mine, theirs = ReadyHints(team), ReadyHints(team)
    for number in range(1, 5):
        mine.add(task(number, priority=3), number)
    mine.add(task(9, priority=4), 9)
    first = mine.take("alice", "teammate")
    next(first)
    theirs.remove(task(2, priority=3), 2)
    assert next(first) in {task(3).id, task(4).id}


def test_files_that_are_no_hints_are_left_alone(hints: ReadyHints, team: Team) -> None:
    hints.add(task(1), 0)
    team.directory.touch(f"{layout.ready_hints('any')}/notes.txt")
    assert taken(hints) == [1]
    hints.rebuild(list)
    assert team.directory.exists(f"{layout.ready_hints('any')}/notes.txt")


def test_a_row_that_is_a_link_is_not_followed(hints: ReadyHints, team: Team, tmp_path: Path) -> None:
    foreign = tmp_path / "0-00000000-task_00000001"
    foreign.touch()
    (team.root / layout.ready_hints("reviewer")).symlink_to(tmp_path)
    assert taken(hints, role="reviewer") == []
    hints.rebuild(list)
    assert foreign.exists()


def test_rebuilding_adds_what_is_missing_and_removes_what_is_wrong(hints: ReadyHints) -> None:
    hints.add(task(1), 0)
    hints.add(task(2), 1)
    hints.rebuild(lambda: [(task(2), 1), (task(3, priority=0), 2)])
    assert taken(hints) == [3, 2]


def test_a_hint_added_while_rebuilding_reads_survives(team: Team) -> None:
    hints, others = ReadyHints(team), ReadyHints(team)

    def read() -> list[tuple[Task, int]]:
        others.add(task(7), 7)
        return []

    hints.rebuild(read)
    assert taken(hints) == [7]
