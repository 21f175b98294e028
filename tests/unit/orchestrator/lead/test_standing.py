"""Whether a run goes on, waits for a person, is drained, or is stuck."""

from __future__ import annotations

import pytest

from coordination.records import Status, Task, TaskResult
from orchestrator.lead.standing import Standing, lost, mergeable, redone, standing
from tests.support.people import a_task, task_id

PROVEN = TaskResult(verified=True)
MERGED = a_task(1, Status.COMPLETED, result=PROVEN, merged="c0ffee")
TO_MERGE = a_task(1, Status.COMPLETED, result=PROVEN, commit="c0ffee")
FAILED = a_task(1, Status.FAILED)
WORKING = a_task(2, Status.IN_PROGRESS, owner="alice")
READY = a_task(3)
AFTER_1 = a_task(4, blocked_by=(task_id(1),))


def stands(*tasks: Task, roles: tuple[str, ...] = ("teammate",), asked: tuple[str, ...] = ()) -> Standing:
    return standing(tasks, members={f"{role}-1": role for role in roles}, asked=asked)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ((), Standing.DRAINED),
        ((MERGED,), Standing.DRAINED),
        ((a_task(status=Status.CANCELLED),), Standing.DRAINED),
        ((a_task(status=Status.COMPLETED, result=TaskResult()),), Standing.DRAINED),
        ((FAILED,), Standing.DRAINED),
        ((WORKING,), Standing.GOING),
        ((TO_MERGE,), Standing.GOING),
        ((READY,), Standing.GOING),
        ((a_task(status=Status.HELD),), Standing.GOING),
        ((FAILED, AFTER_1), Standing.STUCK),
        ((FAILED, AFTER_1, WORKING), Standing.GOING),
        ((FAILED, AFTER_1, READY), Standing.GOING),
    ],
)
def test_a_run_goes_on_while_somebody_works_or_may(tasks: tuple[Task, ...], expected: Standing) -> None:
    assert stands(*tasks) is expected


def test_ready_tasks_without_a_live_member_are_stuck() -> None:
    assert stands(READY, roles=()) is Standing.STUCK


def test_a_task_for_roles_needs_a_live_member_of_one_of_them() -> None:
    task = a_task(roles=("tester", "reviewer"))
    assert stands(task) is Standing.STUCK
    assert stands(task, roles=("teammate", "reviewer")) is Standing.GOING


def test_a_task_that_is_reserved_for_somebody_who_is_gone_is_stuck() -> None:
    task = a_task(reserved_for="alice")
    assert standing([task], members={"bob": "teammate"}) is Standing.STUCK
    assert standing([task], members={"alice": "teammate"}) is Standing.GOING


def test_a_run_waits_for_the_person_when_all_who_work_have_asked() -> None:
    assert stands(WORKING, asked=(WORKING.id,)) is Standing.WAITING
    other = a_task(5, Status.IN_PROGRESS, owner="bob")
    assert stands(WORKING, other, asked=(WORKING.id,)) is Standing.GOING


def test_a_run_goes_on_while_a_member_that_did_not_ask_may_take_something() -> None:
    asking = a_task(2, Status.IN_PROGRESS, owner="teammate-1")
    assert stands(asking, READY, asked=(asking.id,)) is Standing.WAITING
    members = {"teammate-1": "teammate", "bob": "teammate"}
    assert standing([asking, READY], members=members, asked=(asking.id,)) is Standing.GOING


def test_a_question_that_holds_nothing_up_does_not_keep_the_run_open() -> None:
    assert stands(MERGED, asked=(MERGED.id,)) is Standing.DRAINED


def test_what_the_merge_queue_cannot_bring_back_waits_for_the_person_when_nothing_else_goes_on() -> None:
    held_up = {TO_MERGE.id: "its branch is checked out"}
    assert standing([TO_MERGE], members={}, held_up=held_up) is Standing.WAITING
    assert standing([TO_MERGE, WORKING], members={}, held_up=held_up) is Standing.GOING


def test_a_task_that_was_sent_back_is_not_merged_but_done_again() -> None:
    again = a_task(2, redo_of=TO_MERGE.id)
    assert redone([TO_MERGE, again]) == {TO_MERGE.id}
    assert mergeable([TO_MERGE, again]) == []
    assert mergeable([TO_MERGE]) == [TO_MERGE]


def test_only_proven_work_is_merged_in_the_order_of_the_board_whatever_the_clocks_said() -> None:
    first = a_task(2, Status.COMPLETED, result=PROVEN, at="2026-01-02T03:00:02.000Z")
    second = a_task(3, Status.COMPLETED, result=PROVEN, at="2026-01-02T03:00:01.000Z")
    unproven = a_task(4, Status.COMPLETED, result=TaskResult())
    assert mergeable([first, unproven, second, MERGED]) == [first, second]


def test_a_lost_task_names_the_failed_one_at_the_root() -> None:
    far = a_task(5, blocked_by=(AFTER_1.id,))
    assert lost([far, AFTER_1, FAILED]) == {AFTER_1.id: FAILED.id, far.id: FAILED.id}


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_a_need_that_will_never_be_completed_loses_its_dependents(status: Status) -> None:
    assert lost([a_task(1, status), AFTER_1]) == {AFTER_1.id: task_id(1)}


def test_a_need_that_no_longer_exists_loses_its_dependents() -> None:
    assert lost([AFTER_1]) == {AFTER_1.id: task_id(1)}


def test_tasks_behind_completed_or_running_ones_are_not_lost() -> None:
    assert lost([MERGED, AFTER_1, WORKING, a_task(5, blocked_by=(WORKING.id,))]) == {}
