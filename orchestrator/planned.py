"""A run whose tasks a person wrote: the graph and its members, without a model that plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.task_drafts import TaskDraft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordination.records import Task
    from coordination.task_store import TaskStore
    from orchestrator.tasks_file import PlannedTask

WORKER_NAMES = "worker-{number}"


def create_planned(
    store: TaskStore, run: str, tasks: Sequence[PlannedTask], *, max_attempts: int
) -> list[Task]:
    """The tasks of the file are on the board, held, each behind those it needs."""
    made: dict[str, Task] = {}
    for layer in _layers(tasks):
        created = store.create([_draft(task, run, made, max_attempts) for task in layer])
        made |= {task.key: one for task, one in zip(layer, created, strict=True)}
    return list(made.values())


def _layers(tasks: Sequence[PlannedTask]) -> list[list[PlannedTask]]:
    """The tasks by depth: each layer needs only what lies in the ones before."""
    depth: dict[str, int] = {}
    for task in tasks:  # each behind those it needs
        depth[task.key] = 1 + max((depth[need] for need in task.needs), default=-1)
    return [[task for task in tasks if depth[task.key] == level] for level in sorted(set(depth.values()))]


def _draft(task: PlannedTask, run: str, made: Mapping[str, Task], max_attempts: int) -> TaskDraft:
    return TaskDraft(
        subject=task.subject,
        description=task.description,
        run=run,
        priority=task.priority,
        roles=(task.role,) if task.role else (),
        blocked_by=tuple(made[need].id for need in task.needs),
        checks=task.checks,
        plan_required=task.plan,
        max_attempts=max_attempts,
    )


def members_for(tasks: Sequence[PlannedTask], *, wanted: int | None, most: int) -> list[dict[str, str]]:
    """Names and roles of the members that a file's tasks ask for: every role once, then as many as help."""
    roles = sorted({task.role for task in tasks if task.role})
    widest = max(len(layer) for layer in _layers(tasks))
    number = max(len(roles), min(wanted or min(widest, most), most))
    places = [*roles, *["teammate"] * (number - len(roles))]
    return [
        {"name": WORKER_NAMES.format(number=number), "role": role}
        for number, role in enumerate(places, start=1)
    ]
