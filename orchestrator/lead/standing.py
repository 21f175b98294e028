"""Pure: whether a run goes on, is drained, or cannot go on."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from coordination.records import Status, Task

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


class Standing(StrEnum):
    """Where a run stands."""

    GOING = "going"  # somebody works, or will
    WAITING = "waiting"  # only a person can bring it on
    DRAINED = "drained"  # no task is left to do
    STUCK = "stuck"  # tasks are left that nobody will do


def redone(tasks: Iterable[Task]) -> set[str]:
    """The ids of tasks that a later task does again."""
    return {task.redo_of for task in tasks if task.redo_of}


def mergeable(tasks: Iterable[Task]) -> list[Task]:
    """The completed tasks whose proven work is still to be brought back, in the order they have."""
    tasks = list(tasks)
    again = redone(tasks)
    return [
        task
        for task in tasks
        if task.status is Status.COMPLETED
        and task.merged is None
        and task.id not in again
        and task.result is not None
        and task.result.verified
    ]


def lost(tasks: Iterable[Task]) -> dict[str, str]:
    """The tasks that can never become ready, each with the failed or cancelled one that blocks it."""
    by_id = {task.id: task for task in tasks}
    cause: dict[str, str] = {}

    def blocked_for_ever_by(task_id: str) -> str | None:
        task = by_id.get(task_id)
        if task is None or task.status in {Status.FAILED, Status.CANCELLED}:
            return task_id
        if task.status is Status.COMPLETED:
            return None
        if task_id not in cause:
            found = next(filter(None, map(blocked_for_ever_by, task.blocked_by)), None)
            if found is None:
                return None
            cause[task_id] = found
        return cause[task_id]

    for task in by_id.values():
        if not task.status.is_final:
            blocked_for_ever_by(task.id)
    return cause


def standing(
    tasks: Collection[Task],
    *,
    members: Mapping[str, str],
    asked: Collection[str] = (),
    held_up: Collection[str] = (),
) -> Standing:
    """Where the run stands, given the live members with their roles.

    `asked` are the tasks whose holders wait for a person, `held_up` the completed ones that the merge
    queue cannot bring back until a person acts.
    """
    merging = [task for task in mergeable(tasks) if task.id not in held_up]
    working = [task for task in tasks if task.status is Status.IN_PROGRESS]
    asking = [task for task in working if task.id in asked]
    if len(working) > len(asking) or merging:
        return Standing.GOING
    dead = lost(tasks)
    waiting = [task for task in tasks if task.status in {Status.HELD, Status.PENDING} and task.id not in dead]
    busy = {task.owner for task in asking}
    free = {name: role for name, role in members.items() if name not in busy}
    if any(_may_take(task, *member) for task in waiting for member in free.items() if _is_ready(task, tasks)):
        return Standing.GOING
    if asking or held_up:
        return Standing.WAITING
    return Standing.STUCK if waiting or dead else Standing.DRAINED


def _is_ready(task: Task, tasks: Collection[Task]) -> bool:
    done = {other.id for other in tasks if other.status is Status.COMPLETED}
    return task.status is Status.HELD or set(task.blocked_by) <= done


def _may_take(task: Task, name: str, role: str) -> bool:
    return (not task.roles or role in task.roles) and task.reserved_for in {None, name}
