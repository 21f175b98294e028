"""The transition table, the steps, and which step a reader believes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from coordination.records import Lease, Plan, Status, Task, TaskResult
from coordination.tasks import rules
from coordination.tasks.rules import (
    TRANSITIONS,
    Event,
    InvalidTransition,
    StaleToken,
    cycle_among,
    find_cycle,
    ready,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TASK = "task_00000001"
PENDING = Task(id=TASK, subject="some work", status=Status.PENDING)
CLAIMED = rules.claim(PENDING, owner="alice", holder="alice~7", number=3)
LAST_TRY = structs.replace(CLAIMED, attempts=2, refusals=2)
PLAN = Plan(number=1, digest="d", request="r")
RESULT = TaskResult(text="tried")
FENCED: dict[str, Callable[[int], Task]] = {
    "bind": lambda token: rules.bind(CLAIMED, token, worktree="w", base="b"),
    "submit_plan": lambda token: rules.submit_plan(CLAIMED, token, Plan(number=1, digest="", request="")),
    "release": lambda token: rules.release(CLAIMED, token, "stopped"),
    "reclaim": lambda token: rules.reclaim(CLAIMED, token, "silent"),
    "complete": lambda token: rules.complete(CLAIMED, token, commit="c", branch="b", result=RESULT),
    "refuse": lambda token: rules.refuse(CLAIMED, token, RESULT),
    "fail": lambda token: rules.fail(CLAIMED, token, RESULT, "gave up"),
}


@pytest.mark.parametrize("write", FENCED)
def test_every_write_of_a_holder_names_the_present_token(write: str) -> None:
    assert FENCED[write](3).event == write
    with pytest.raises(StaleToken) as refused:
        FENCED[write](2)
    assert (refused.value.token, refused.value.present) == (2, 3)


def test_nothing_leaves_a_final_status_and_only_a_merge_keeps_one() -> None:
    leaving = [(before, event) for before, event in TRANSITIONS if before is not None and before.is_final]
    assert leaving == [(Status.COMPLETED, Event.MERGE)]


def test_a_step_that_is_not_in_the_table_names_task_event_and_status() -> None:
    with pytest.raises(InvalidTransition, match=f"{TASK} is pending, so `merge`"):
        rules.merge(PENDING, "c0ffee")


def test_silence_costs_an_attempt_and_a_release_does_not() -> None:
    assert rules.reclaim(CLAIMED, 3, "silent").attempts == 1
    assert rules.release(CLAIMED, 3, "stopped").attempts == 0


def test_the_last_attempt_fails_the_task_with_its_history() -> None:
    failed = rules.reclaim(LAST_TRY, 3, "silent")
    assert (failed.status, failed.attempts, failed.owner, failed.lease) == (Status.FAILED, 3, "alice", None)
    assert "silent" in failed.why


def test_the_last_refused_completion_fails_the_task() -> None:
    assert rules.refuse(CLAIMED, 3, RESULT).status is Status.IN_PROGRESS
    assert rules.refuse(LAST_TRY, 3, RESULT).status is Status.FAILED


def test_a_released_task_still_says_where_the_work_lies() -> None:
    bound = rules.bind(CLAIMED, 3, worktree=".worktrees/alice", base="c0ffee")
    released = rules.release(bound, 3, "stopped", commit="abba", branch="leadhand/x")
    assert (released.worktree, released.base, released.commit) == (".worktrees/alice", "c0ffee", "abba")
    assert (released.owner, released.lease, released.plan) == (None, None, None)


def test_resume_keeps_the_plan_and_names_the_lease_it_continues() -> None:
    planned = rules.submit_plan(CLAIMED, 3, PLAN)
    resumed = rules.resume(planned, holder="alice~9", number=5, died=False)
    assert resumed.lease == Lease(holder="alice~9", token=5)
    assert (resumed.plan, resumed.resumed_from, resumed.attempts) == (planned.plan, 3, 0)


def test_resume_after_a_death_costs_an_attempt_and_the_last_one_fails() -> None:
    assert rules.resume(CLAIMED, holder="alice~9", number=5, died=True).attempts == 1
    assert rules.resume(LAST_TRY, holder="alice~9", number=5, died=True).status is Status.FAILED


def test_a_new_demand_for_a_plan_voids_the_old_one() -> None:
    planned = rules.submit_plan(CLAIMED, 3, PLAN)
    demanded = rules.require_plan(planned)
    assert (demanded.plan_required, demanded.plan) == (True, None)


@pytest.mark.parametrize("status", [*Status, None])
def test_only_a_completed_need_unblocks(status: Status | None) -> None:
    waiting = structs.replace(PENDING, blocked_by=("task_00000002",))
    assert ready(waiting, lambda _: status) is (status is Status.COMPLETED)


def test_a_cycle_is_named_from_the_task_back_to_it() -> None:
    needs = {"b": ["c"], "c": ["d", "a"]}
    assert find_cycle(needs, "a", "b") == ["a", "b", "c", "a"]
    assert find_cycle(needs, "a", "d") is None
    assert find_cycle(needs, "a", "a") == ["a", "a"]


def test_the_diagram_shows_every_transition_of_the_table() -> None:
    diagram = rules.diagram()
    assert "[*] --> held: create" in diagram
    assert all(event in diagram for _, event in TRANSITIONS)
    assert diagram.count("--> [*]") == 3


def test_a_cycle_among_new_tasks_is_found_wherever_it_lies() -> None:
    assert cycle_among({"a": ["b"], "b": ["old"]}) is None
    cycle = cycle_among({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]})
    assert cycle
    assert cycle[0] == cycle[-1]
    assert set(pairwise(cycle)) == {("a", "b"), ("b", "c"), ("c", "a")}
