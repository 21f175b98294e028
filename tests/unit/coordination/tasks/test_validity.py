"""Which version may follow which: every step of ours does, every tampered one does not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from coordination.errors import InvalidRecord
from coordination.numbered_log import Record
from coordination.records import Lease, PendingEdge, Plan, Status, Task, TaskResult
from coordination.tasks import rules
from coordination.tasks.rules import Event
from coordination.tasks.validity import TaskLogRules, check_step

OTHER = "task_00000002"
HELD = Task(id="task_00000001", subject="some work", status=Status.HELD)
PENDING = rules.publish(HELD)
WAITING = rules.want_edges(PENDING, [PendingEdge(edge="edge_1", needs=OTHER)])
CLAIMED = rules.claim(PENDING, owner="alice", holder="alice~7", number=3)
LAST_TRY = structs.replace(CLAIMED, attempts=2, refusals=2)
COMPLETED = rules.complete(CLAIMED, 3, commit="c", branch="b", result=TaskResult())
PLAN = Plan(number=1, digest="d", request="r")
STEPS: dict[Event, tuple[Task, Task]] = {
    Event.PUBLISH: (HELD, PENDING),
    Event.EDIT: (PENDING, rules.edit(PENDING, structs.replace(PENDING, subject="other work"))),
    Event.WANT_EDGES: (PENDING, WAITING),
    Event.SETTLE_EDGE: (WAITING, rules.settle(WAITING, {"edge_1": True})),
    Event.CLAIM: (PENDING, rules.claim(PENDING, owner="bob", holder="bob~2", number=9)),
    Event.RESUME: (CLAIMED, rules.resume(CLAIMED, holder="alice~8", number=9, died=False)),
    Event.BIND: (CLAIMED, rules.bind(CLAIMED, 3, worktree="w", base="b")),
    Event.PREPARE: (PENDING, rules.prepare(PENDING, "w")),
    Event.REQUIRE_PLAN: (CLAIMED, rules.require_plan(CLAIMED)),
    Event.SUBMIT_PLAN: (CLAIMED, rules.submit_plan(CLAIMED, 3, PLAN)),
    Event.RELEASE: (CLAIMED, rules.release(CLAIMED, 3, "stopped")),
    Event.RECLAIM: (CLAIMED, rules.reclaim(CLAIMED, 3, "silent")),
    Event.COMPLETE: (CLAIMED, COMPLETED),
    Event.REFUSE: (CLAIMED, rules.refuse(CLAIMED, 3, TaskResult())),
    Event.FAIL: (LAST_TRY, rules.refuse(LAST_TRY, 3, TaskResult())),
    Event.CANCEL: (CLAIMED, rules.cancel(CLAIMED, "not wanted")),
    Event.MERGE: (COMPLETED, rules.merge(COMPLETED, "m")),
}
NEVER_CHANGES = {"id": "task_00000009", "created_at": "later", "redo_of": OTHER, "run": "run_2"}
LEASED = Lease(holder="alice~7", token=9)


def test_every_event_is_tried_here() -> None:
    assert {*STEPS, Event.CREATE} == {*Event}


@pytest.mark.parametrize("event", STEPS)
def test_a_step_of_ours_is_believed(event: Event) -> None:
    check_step(*STEPS[event], 9)


@pytest.mark.parametrize("event", STEPS)
@pytest.mark.parametrize("name", NEVER_CHANGES)
def test_no_event_changes_what_a_task_is(event: Event, name: str) -> None:
    before, after = STEPS[event]
    with pytest.raises(InvalidRecord, match=f"must not change {name}"):
        check_step(before, structs.replace(after, **{name: NEVER_CHANGES[name]}), 9)


@pytest.mark.parametrize(
    "event", [Event.BIND, Event.SUBMIT_PLAN, Event.REQUIRE_PLAN, Event.COMPLETE, Event.REFUSE]
)
def test_a_fenced_event_keeps_the_token(event: Event) -> None:
    before, after = STEPS[event]
    with pytest.raises(InvalidRecord, match="must not change lease"):
        check_step(before, structs.replace(after, lease=LEASED), 9)


@pytest.mark.parametrize(
    ("event", "tampered", "why"),
    [
        (Event.CLAIM, {"lease": Lease(holder="bob~2", token=8)}, "under its own number"),
        (Event.CLAIM, {"lease": Lease(holder="eve~2", token=9)}, "does not belong to its owner"),
        (Event.CLAIM, {"term": -1}, "older than"),
        (Event.CLAIM, {"status": Status.COMPLETED}, "does not lead from"),
        (Event.CLAIM, {"event": "conquer"}, "no such event"),
        (Event.RESUME, {"lease": Lease(holder="alice~7", token=9)}, "does not continue"),
        (Event.RESUME, {"resumed_from": 2}, "does not continue"),
        (Event.RESUME, {"attempts": 2}, "does not continue"),
        (Event.RELEASE, {"lease": LEASED}, "lease did not end"),
        (Event.RELEASE, {"owner": "bob"}, "still has an owner"),
        (Event.RECLAIM, {"attempts": 0}, "not counted"),
        (Event.RECLAIM, {"attempts": 3}, "not counted"),
        (Event.REFUSE, {"refusals": 0}, "not counted"),
        (Event.SETTLE_EDGE, {"blocked_by": ("task_00000003",)}, "no pending edge"),
        (Event.WANT_EDGES, {"blocked_by": (OTHER,)}, "must not change blocked_by"),
        (Event.REQUIRE_PLAN, {"plan_required": False}, "still counts"),
        (Event.SUBMIT_PLAN, {"plan": None}, "no later one"),
        (Event.PREPARE, {"prepared": None}, "made for it before"),
        (Event.PREPARE, {"worktree": "w"}, "must not change worktree"),
        (Event.BIND, {"prepared": "w"}, "kept for another"),
        (Event.EDIT, {"priority": 10}, "priority 10"),
        (Event.EDIT, {"subject": " "}, "subject is blank"),
        (Event.EDIT, {"max_attempts": 0}, "max_attempts"),
        (Event.EDIT, {"roles": ("../up",)}, "no name"),
    ],
)
def test_a_tampered_step_is_not_believed(event: Event, tampered: dict[str, Any], why: str) -> None:
    before, after = STEPS[event]
    with pytest.raises(InvalidRecord, match=why):
        check_step(before, structs.replace(after, **tampered), 9)


def test_a_task_with_a_pending_edge_or_reserved_for_another_cannot_be_claimed() -> None:
    for before in (WAITING, structs.replace(PENDING, reserved_for="carol")):
        with pytest.raises(InvalidRecord):
            check_step(before, rules.claim(before, owner="bob", holder="bob~2", number=9), 9)


def test_a_pending_edge_is_not_dropped_by_wanting_another() -> None:
    after = rules.want_edges(WAITING, [PendingEdge(edge="edge_2", needs=OTHER)])
    with pytest.raises(InvalidRecord, match="without a verdict"):
        check_step(WAITING, structs.replace(after, edges_pending=after.edges_pending[1:]), 9)


def test_a_task_begins_held_as_record_1_and_without_history() -> None:
    check_step(None, HELD, 1)
    for task, number in ((HELD, 2), (PENDING, 1), (structs.replace(HELD, attempts=1), 1)):
        with pytest.raises(InvalidRecord):
            check_step(None, task, number)


def test_a_version_of_another_task_does_not_count() -> None:
    record = Record(number=1, prev=0, commit_id="x", body=structs.replace(HELD, id=OTHER).to_json())
    with pytest.raises(InvalidRecord, match=OTHER):
        TaskLogRules(HELD.id).check(None, record)
