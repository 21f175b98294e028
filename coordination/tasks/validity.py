"""Pure: which version of a task may follow which, the same for the writer and for every reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.numbered_log import LogKind
from coordination.records import Task
from coordination.tasks.rules import EDITABLE, TRANSITIONS, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from coordination.numbered_log import Record

_ALWAYS = frozenset({"status", "event", "by", "why", "term", "at", "unknown"})
_LEASE = frozenset({"owner", "lease", "plan"})
_MAY_CHANGE: Mapping[Event, frozenset[str]] = {
    Event.PUBLISH: frozenset(),
    Event.EDIT: EDITABLE,
    Event.WANT_EDGES: frozenset({"edges_pending"}),
    Event.SETTLE_EDGE: frozenset({"edges_pending", "blocked_by"}),
    Event.CLAIM: frozenset({"owner", "lease", "resumed_from"}),
    Event.RESUME: frozenset({"lease", "resumed_from", "attempts"}),
    Event.BIND: frozenset({"worktree", "base", "prepared"}),
    Event.PREPARE: frozenset({"prepared"}),
    Event.REQUIRE_PLAN: frozenset({"plan_required", "plan"}),
    Event.SUBMIT_PLAN: frozenset({"plan"}),
    Event.RELEASE: _LEASE | {"reserved_for", "commit", "branch"},
    Event.RECLAIM: _LEASE | {"reserved_for", "attempts"},
    Event.COMPLETE: frozenset({"commit", "branch", "result"}),
    Event.REFUSE: frozenset({"refusals", "result"}),
    Event.FAIL: frozenset({"lease", "plan", "attempts", "refusals", "result"}),
    Event.CANCEL: _LEASE,
    Event.MERGE: frozenset({"merged"}),
}


class TaskLogRules:
    """The rules of the log of one task."""

    def __init__(self, task: str) -> None:
        self._task = task

    def check(self, state: Task | None, record: Record) -> None:
        """Raise InvalidRecord unless the record is a version of this task that may follow `state`."""
        after = Task.from_json(record.body)
        if after.id != self._task:
            raise InvalidRecord(why=f"it is of {after.id}")
        check_step(state, after, record.number)

    def apply(self, state: Task | None, record: Record) -> Task:  # noqa: ARG002 - a version holds all
        return Task.from_json(record.body)


TASK = LogKind(name="task", parent=layout.TASK_LOGS, ids=layout.TASK_ID, rules=TaskLogRules)


def check_step(before: Task | None, after: Task, number: int) -> None:
    """Raise InvalidRecord unless `after` may be the version with this number that follows `before`."""
    event = _event(before, after)
    _check_values(after)
    if before is None:
        _check_created(after, number)
        return
    if after.term < before.term:
        raise InvalidRecord(why=f"its term {after.term} is older than {before.term}")
    for name in set(after.__struct_fields__) - _ALWAYS - _MAY_CHANGE[event]:
        if getattr(after, name) != getattr(before, name):
            raise InvalidRecord(why=f"{event} must not change {name}")
    for holds in _CONDITIONS.get(event, ()):
        if not holds(before, after, number):
            raise InvalidRecord(why=(holds.__doc__ or holds.__name__).rstrip("."))


def _event(before: Task | None, after: Task) -> Event:
    try:
        event = Event(after.event)
    except ValueError as error:
        raise InvalidRecord(why=f"no such event: {after.event}") from error
    if TRANSITIONS.get((before.status if before else None, event)) is not after.status:
        raise InvalidRecord(why=f"{event} does not lead from {before and before.status} to {after.status}")
    return event


def _check_values(task: Task) -> None:
    if not layout.TASK_ID.fullmatch(task.id):
        raise InvalidRecord(why=f"{task.id!r} is no task id")
    if not task.subject.strip():
        raise InvalidRecord(why="the subject is blank")
    if not 0 <= task.priority <= 9:
        raise InvalidRecord(why=f"priority {task.priority} is not in 0 to 9")
    if task.max_attempts < 1:
        raise InvalidRecord(why="max_attempts is less than 1")
    for name in (*task.roles, *([task.reserved_for] if task.reserved_for else [])):
        if not layout.MEMBER_NAME.fullmatch(name):
            raise InvalidRecord(why=f"{name!r} is no name of a role or member")


def _check_created(task: Task, number: int) -> None:
    if number != 1:
        raise InvalidRecord(why="a task is created by record 1 only")
    history = (task.owner, task.lease, task.plan, task.result, task.resumed_from, task.merged, task.commit)
    if any(history) or task.prepared or task.attempts or task.refusals or task.edges_pending:
        raise InvalidRecord(why="a new task has no history")


def _holder_is_owner(_: Task, after: Task, number: int) -> bool:
    """Its lease does not belong to its owner under its own number."""
    holder = layout.split_bearer(after.lease.holder) if after.lease else None
    return after.token == number and holder is not None and holder[0] == after.owner


def _edges_are_settled(before: Task, _: Task, __: int) -> bool:
    """An edge was still pending."""
    return not before.edges_pending


def _not_for_another(before: Task, after: Task, _: int) -> bool:
    """It was reserved for another member."""
    return before.reserved_for in {None, after.owner}


def _continues(before: Task, after: Task, _: int) -> bool:
    """It does not continue the lease before it."""
    old = layout.split_bearer(before.lease.holder) if before.lease else None
    new = layout.split_bearer(after.lease.holder) if after.lease else None
    if old is None or new is None or new[1] <= old[1]:
        return False
    return after.resumed_from == before.token and after.attempts - before.attempts in {0, 1}


def _lease_is_over(_: Task, after: Task, __: int) -> bool:
    """The lease did not end."""
    return after.lease is None and after.plan is None


def _nobody_owns(_: Task, after: Task, __: int) -> bool:
    """It still has an owner."""
    return after.owner is None


def _attempt_counted(before: Task, after: Task, _: int) -> bool:
    """The attempt was not counted, or was the last."""
    return after.attempts == before.attempts + 1 < after.max_attempts


def _refusal_counted(before: Task, after: Task, _: int) -> bool:
    """The refusal was not counted, or was the last."""
    return after.refusals == before.refusals + 1 < after.max_attempts


def _edges_only_join(before: Task, after: Task, _: int) -> bool:
    """A pending edge was dropped without a verdict."""
    return after.edges_pending[: len(before.edges_pending)] == before.edges_pending


def _needs_come_from_edges(before: Task, after: Task, _: int) -> bool:
    """A need came or went that was no pending edge."""
    settled = {edge.needs for edge in before.edges_pending if edge not in after.edges_pending}
    kept = set(after.edges_pending) <= set(before.edges_pending)
    old, new = set(before.blocked_by), set(after.blocked_by)
    return kept and old <= new and new - old <= settled


def _plan_is_voided(_: Task, after: Task, __: int) -> bool:
    """The old plan still counts."""
    return after.plan_required and after.plan is None


def _plan_is_newer(before: Task, after: Task, _: int) -> bool:
    """The plan is no later one."""
    return after.plan is not None and after.plan.number > (before.plan.number if before.plan else 0)


def _is_used_up(_: Task, after: Task, __: int) -> bool:
    """A tree made beforehand was kept for another holder."""
    return after.prepared is None


def _one_tree(before: Task, after: Task, _: int) -> bool:
    """A tree was made for it before."""
    return before.prepared is None and bool(after.prepared)


_CONDITIONS: Mapping[Event, tuple[Callable[[Task, Task, int], bool], ...]] = {
    Event.WANT_EDGES: (_edges_only_join,),
    Event.SETTLE_EDGE: (_needs_come_from_edges,),
    Event.CLAIM: (_holder_is_owner, _edges_are_settled, _not_for_another),
    Event.RESUME: (_holder_is_owner, _continues),
    Event.BIND: (_is_used_up,),
    Event.PREPARE: (_one_tree,),
    Event.REQUIRE_PLAN: (_plan_is_voided,),
    Event.SUBMIT_PLAN: (_plan_is_newer,),
    Event.RELEASE: (_lease_is_over, _nobody_owns),
    Event.RECLAIM: (_lease_is_over, _nobody_owns, _attempt_counted),
    Event.REFUSE: (_refusal_counted,),
    Event.FAIL: (_lease_is_over,),
    Event.CANCEL: (_lease_is_over, _nobody_owns),
}
