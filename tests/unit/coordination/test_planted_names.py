"""Whatever somebody leaves among the files of the board, the work on it goes on."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.records import Status, Task, TaskResult
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from coordination.team_root import Team

ALICE = Claimant(name="alice", incarnation=7)
STRANGER = "task_00000bad"


def plant_directory(path: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


PLANTED: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "directory": plant_directory,
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "looping link": lambda path: path.symlink_to(path.name),
    "link to a directory": lambda path: path.symlink_to("."),
    "garbage": lambda path: path.write_bytes(b"\0garbage") and None,
}
# a claim and its end write numbers 3 and 4 of the task, a new task the next one of the graph
PLACES = {
    "the next number": ".tasks/log/{id}/3.json",
    "the number after the next": ".tasks/log/{id}/4.json",
    "a number far ahead": ".tasks/log/{id}/900000.json",
    "no number in a log": ".tasks/log/{id}/notes.txt",
    "the next number of the graph": ".tasks/graph/2.json",
    "the log of a stranger": f".tasks/log/{STRANGER}",
    "among the logs": ".tasks/log/notes",
    "the readable copy": ".tasks/{id}.json",
    "a kept edit": ".tasks/{id}.conflict-4.json",
    "the copy of a stranger": f".tasks/{STRANGER}.json",
    "among the copies": ".tasks/notes",
    "a hint": f".tasks/ready/any/0-00000000-{STRANGER}",
    "among the hints": ".tasks/ready/any/notes",
    "a row of hints": ".tasks/ready/reviewer",
    "a holding": f".tasks/holdings/alice/{STRANGER}",
    "the lock": ".tasks/.lock",
}


@pytest.fixture
def store(team: Team) -> TaskStore:
    return TaskStore(team, "lead~1")


def made(store: TaskStore, *subjects: str) -> list[Task]:
    return store.publish(task.id for task in store.create([TaskDraft(subject=name) for name in subjects]))


def finish_next(team: Team) -> Task:
    """Claimed and completed by a process that starts now."""
    store = TaskStore(team, "alice~7")
    task = store.claim_next(ALICE)
    assert task
    assert task.token
    return store.complete(task.id, task.token, commit="c0ffee", branch="b", result=TaskResult())[0]


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_a_planted_name_stops_nobody(
    store: TaskStore, team: Team, place: str, plant: Callable[[Path], None]
) -> None:
    first, second = made(store, "first", "second")
    path = team.root / place.format(id=first.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    plant(path)
    store.repair()
    finished = {finish_next(team).id}  # a hint that is none costs the order, not the task
    [third] = made(store, "third")
    finished |= {finish_next(team).id, finish_next(team).id}
    assert finished == {first.id, second.id, third.id}
    TaskStore(team, "bob~2").repair()
    fresh = TaskStore(team, "person")
    assert [task.status for task in fresh.all()] == [Status.COMPLETED] * 3


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
def test_three_hundred_squatted_numbers_cost_a_look_and_no_task(
    store: TaskStore, team: Team, plant: Callable[[Path], None]
) -> None:
    [task] = made(store, "wanted")
    for number in range(3, 303):
        plant(team.root / layout.record(layout.task_log(task.id), number))
    assert finish_next(team).lease == store.get(task.id).lease
    assert store.get(task.id).token == 303


def test_copies_of_records_count_in_no_other_log_and_under_no_other_number(
    store: TaskStore, team: Team
) -> None:
    first, second = made(store, "first"), made(store, "second")
    own, other = (team.root / layout.task_log(task.id) for [task] in (first, second))
    shutil.copy(other / "2.json", own / "3.json")
    shutil.copy(own / "2.json", own / "4.json")
    shutil.copy(own / "1.json", own / "5.json")
    assert finish_next(team).id == first[0].id
    assert [number for number, _ in store.history(first[0].id)] == [1, 2, 6, 7]


def test_one_flipped_byte_is_reported_and_the_next_number_repairs_it(store: TaskStore, team: Team) -> None:
    first, second = made(store, "first"), made(store, "second")
    path = team.root / layout.record(layout.task_log(first[0].id), 2)
    path.write_bytes(path.read_bytes().replace(b'"first"', b'"f1rst"'))
    fresh = TaskStore(team, "bob~2")
    assert [task.status for task in fresh.all()] == [Status.HELD, Status.PENDING]
    assert "2.json" in fresh.problems[first[0].id]
    assert finish_next(team).id == second[0].id
    fresh.publish([first[0].id])
    assert [number for number, _ in fresh.history(first[0].id)] == [1, 3]
    fresh = TaskStore(team, "carol~2")
    assert fresh.get(first[0].id).subject == "first"
    assert fresh.problems == {}
