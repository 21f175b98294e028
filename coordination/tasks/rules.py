"""Pure: which transitions a task knows, how each makes the next version, and which tasks are ready."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from msgspec import structs

from coordination.errors import TeamError
from coordination.records import Lease, PendingEdge, Plan, Status, Task, TaskResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Event(StrEnum):
    """What can happen to a task."""

    CREATE = "create"
    PUBLISH = "publish"  # its edges have arrived, it may be claimed
    EDIT = "edit"
    WANT_EDGES = "want_edges"  # edges wait for the verdict of the graph
    SETTLE_EDGE = "settle_edge"  # and have it
    CLAIM = "claim"
    RESUME = "resume"  # the next incarnation of the holder goes on
    BIND = "bind"  # to a worktree
    PREPARE = "prepare"  # a worktree was made for its next holder
    REQUIRE_PLAN = "require_plan"
    SUBMIT_PLAN = "submit_plan"
    RELEASE = "release"  # given back on purpose
    RECLAIM = "reclaim"  # taken back from a silent or dead holder
    COMPLETE = "complete"
    REFUSE = "refuse"  # the checks refused the completion
    FAIL = "fail"
    CANCEL = "cancel"
    MERGE = "merge"  # its commit is on the run's branch


_UNCLAIMED = (Status.HELD, Status.PENDING)
_UNFINISHED = (*_UNCLAIMED, Status.IN_PROGRESS)

TRANSITIONS: Mapping[tuple[Status | None, Event], Status] = {
    (None, Event.CREATE): Status.HELD,
    (Status.HELD, Event.PUBLISH): Status.PENDING,
    (Status.PENDING, Event.CLAIM): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, Event.RESUME): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, Event.BIND): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, Event.SUBMIT_PLAN): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, Event.REFUSE): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, Event.RELEASE): Status.PENDING,
    (Status.IN_PROGRESS, Event.RECLAIM): Status.PENDING,
    (Status.IN_PROGRESS, Event.COMPLETE): Status.COMPLETED,
    (Status.IN_PROGRESS, Event.FAIL): Status.FAILED,
    (Status.COMPLETED, Event.MERGE): Status.COMPLETED,
    **{(status, Event.EDIT): status for status in _UNCLAIMED},
    **{(status, Event.WANT_EDGES): status for status in _UNCLAIMED},
    **{(status, Event.SETTLE_EDGE): status for status in _UNCLAIMED},
    **{(status, Event.PREPARE): status for status in _UNCLAIMED},
    **{(status, Event.REQUIRE_PLAN): status for status in _UNFINISHED},
    **{(status, Event.CANCEL): Status.CANCELLED for status in _UNFINISHED},
}
EDITABLE = frozenset(
    {"subject", "description", "priority", "roles", "checks", "max_attempts", "reserved_for", "unknown"}
)


@dataclass(eq=False)
class InvalidTransition(TeamError):
    """The table has no such step from where the task stands."""

    task: str
    event: Event
    status: Status
    says = "task {task} is {status}, so `{event}` is not possible; look at it again before you go on"


@dataclass(eq=False)
class StaleToken(TeamError):
    """The writer's lease of the task is not the present one: the task went on without it."""

    task: str
    token: int
    present: int | None
    says = (
        "the lease {token} of task {task} has ended (present: {present}); stop, the work is no longer yours"
    )


def publish(task: Task) -> Task:
    return _step(task, Event.PUBLISH)


def edit(task: Task, changed: Task) -> Task:
    """The task with the editable fields of `changed`; every other field stays."""
    return _step(task, Event.EDIT, **{name: getattr(changed, name) for name in EDITABLE})


def want_edges(task: Task, edges: Iterable[PendingEdge]) -> Task:
    return _step(task, Event.WANT_EDGES, edges_pending=(*task.edges_pending, *edges))


def settle(task: Task, verdicts: Mapping[str, bool]) -> Task:
    """The edges with a verdict are confirmed or dropped; the others go on waiting."""
    added = [edge.needs for edge in task.edges_pending if verdicts.get(edge.edge)]
    return _step(
        task,
        Event.SETTLE_EDGE,
        edges_pending=tuple(edge for edge in task.edges_pending if edge.edge not in verdicts),
        blocked_by=tuple(dict.fromkeys((*task.blocked_by, *added))),
    )


def claim(task: Task, *, owner: str, holder: str, number: int) -> Task:
    """Leased to `holder` (`alice~7`) of the name `owner`, under a token that is this version's number."""
    lease = Lease(holder=holder, token=number)
    return _step(task, Event.CLAIM, owner=owner, lease=lease, resumed_from=None)


def resume(task: Task, *, holder: str, number: int, died: bool) -> Task:
    """The lease goes on under a new token; a death counts as an attempt, and the last one fails the task."""
    attempts = task.attempts + int(died)
    if attempts >= task.max_attempts:
        return _failed(task, why=f"attempt {attempts} ended with a dead worker", attempts=attempts)
    lease = Lease(holder=holder, token=number)
    return _step(task, Event.RESUME, lease=lease, resumed_from=task.token, attempts=attempts)


def bind(task: Task, token: int, *, worktree: str, base: str) -> Task:
    """The tree that was made beforehand is used up by it, whichever tree this one is."""
    return _step(_fenced(task, token), Event.BIND, worktree=worktree, base=base, prepared=None)


def prepare(task: Task, worktree: str) -> Task:
    """The next holder works in this tree, unless it is gone by then."""
    return _step(task, Event.PREPARE, prepared=worktree)


def require_plan(task: Task) -> Task:
    """A plan is wanted from now on, and one that was submitted or approved counts no longer."""
    return _step(task, Event.REQUIRE_PLAN, plan_required=True, plan=None)


def submit_plan(task: Task, token: int, plan: Plan) -> Task:
    return _step(_fenced(task, token), Event.SUBMIT_PLAN, plan=plan)


def release(
    task: Task, token: int, why: str, *, commit: str | None = None, branch: str | None = None
) -> Task:
    """Pending again, no attempt counted; where the work lies stays known."""
    return _step(
        _fenced(task, token),
        Event.RELEASE,
        why=why,
        owner=None,
        lease=None,
        plan=None,
        reserved_for=None,
        commit=commit or task.commit,
        branch=branch or task.branch,
    )


def reclaim(task: Task, token: int, why: str) -> Task:
    """Pending again and one attempt more; the last attempt fails the task instead."""
    attempts = _fenced(task, token).attempts + 1
    if attempts >= task.max_attempts:
        return _failed(task, why=f"attempt {attempts} ended: {why}", attempts=attempts)
    return _step(
        task,
        Event.RECLAIM,
        why=why,
        owner=None,
        lease=None,
        plan=None,
        reserved_for=None,
        attempts=attempts,
    )


def complete(task: Task, token: int, *, commit: str | None, branch: str | None, result: TaskResult) -> Task:
    """Final; owner and lease stay, as the record of who did it under which token."""
    return _step(_fenced(task, token), Event.COMPLETE, commit=commit, branch=branch, result=result)


def refuse(task: Task, token: int, result: TaskResult) -> Task:
    """Still in progress and one refusal more; the last one fails the task instead."""
    refusals = _fenced(task, token).refusals + 1
    if refusals >= task.max_attempts:
        return _failed(task, why=f"not completed after {refusals} tries", result=result, refusals=refusals)
    return _step(task, Event.REFUSE, result=result, refusals=refusals)


def fail(task: Task, token: int, result: TaskResult, why: str) -> Task:
    return _failed(_fenced(task, token), why=why, result=result)


def cancel(task: Task, why: str) -> Task:
    """Final, whoever held it: its token is worth nothing any more."""
    return _step(task, Event.CANCEL, why=why, owner=None, lease=None, plan=None)


def merge(task: Task, commit: str) -> Task:
    return _step(task, Event.MERGE, merged=commit)


def ready(task: Task, status_of: Callable[[str], Status | None]) -> bool:
    """True when the task may be claimed; `status_of` gives None for what cannot be read, which blocks."""
    if task.status is not Status.PENDING or task.edges_pending:
        return False
    return not blockers(task, status_of)


def blockers(task: Task, status_of: Callable[[str], Status | None]) -> tuple[str, ...]:
    """What the task still waits for; a failed or cancelled need blocks for ever."""
    return tuple(need for need in task.blocked_by if status_of(need) is not Status.COMPLETED)


def find_cycle(needs: Mapping[str, Iterable[str]], task: str, need: str) -> list[str] | None:
    """The cycle that "task needs need" would close, from `task` back to `task`; None when there is none."""
    came_from: dict[str, str] = {need: task}
    waiting = [need]
    while waiting:
        here = waiting.pop()
        if here == task:
            return _path_back(came_from, task)
        for following in needs.get(here, ()):
            if following not in came_from:
                came_from[following] = here
                waiting.append(following)
    return None


def cycle_among(tasks: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The tasks of a cycle, each needing the next, the first again at the end; None when there is none."""
    inner = {task: [need for need in needs if need in tasks] for task, needs in tasks.items()}
    try:
        TopologicalSorter(inner).prepare()
    except CycleError as error:
        return [*error.args[1]][::-1]
    return None


def diagram() -> str:
    """The table as a mermaid state diagram, for the documentation."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (before, event), after in TRANSITIONS.items():
        arrows.setdefault((before or "[*]", after), []).append(event)
    lines = [f"    {before} --> {after}: {', '.join(events)}" for (before, after), events in arrows.items()]
    final = [f"    {status} --> [*]" for status in Status if status.is_final]
    return "\n".join(["stateDiagram-v2", *lines, *final]) + "\n"


def _path_back(came_from: Mapping[str, str], task: str) -> list[str]:
    path = [task]
    while len(path) == 1 or path[-1] != task:
        path.append(came_from[path[-1]])
    return path[::-1]


def _failed(task: Task, *, why: str, **changes: object) -> Task:
    return _step(task, Event.FAIL, why=why, lease=None, plan=None, **changes)


def _fenced(task: Task, token: int) -> Task:
    if task.token != token:
        raise StaleToken(task=task.id, token=token, present=task.token)
    return task


def _step(task: Task, event: Event, *, why: str = "", **changes: object) -> Task:
    status = TRANSITIONS.get((task.status, event))
    if status is None:
        raise InvalidTransition(task=task.id, event=event, status=task.status)
    return structs.replace(task, status=status, event=event.value, why=why, **changes)
