"""A run whose tasks a person wrote: the graph and its members, without a model that plans."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

from coordination.tasks.drafts import TaskDraft
from orchestrator.lead.standing import lost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.records import Member, Task
    from coordination.tasks.store import TaskStore
    from orchestrator.lead.parts import LeadParts
    from orchestrator.tasks_file import PlannedTask

WORKER_NAMES = "worker-{}"


def create_planned(
    store: TaskStore, run: str, tasks: Sequence[PlannedTask], *, max_attempts: int
) -> list[Task]:
    """The tasks of the file are on the board, held, with their edges; or none of them."""
    return store.create([_draft(task, run, max_attempts) for task in tasks])


def _draft(task: PlannedTask, run: str, max_attempts: int) -> TaskDraft:
    return TaskDraft(
        key=task.key,
        subject=task.subject,
        description=task.description,
        run=run,
        priority=task.priority,
        roles=(task.role,) if task.role else (),
        blocked_by=task.needs,
        checks=task.checks,
        plan_required=task.plan,
        max_attempts=max_attempts,
    )


async def ask_for_members(parts: LeadParts, *, wanted: int) -> bool:
    """Members are on their way for the tasks that can still be done; False when nobody is missing."""
    tasks = await parts.behind(parts.background.tasks.all, parts.opened.run.id)
    dead = lost(tasks)
    left = [task for task in tasks if not task.status.is_final and task.id not in dead]
    living = await parts.behind(parts.supervisor.living)
    places = members_for(left, wanted=wanted, most=parts.settings.max_workers, living=living) if left else []
    for place in places:
        await parts.host.spawn(place)
    return bool(places)


def members_for(
    tasks: Sequence[Task], *, wanted: int, most: int, living: Sequence[Member] = ()
) -> list[dict[str, str]]:
    """Names and roles of the members to start for these tasks, beside those who live.

    Every role that a task names once, then as many as were wanted, or as can work side by side.
    """
    served = {member.role for member in living}
    roles = sorted({role for task in tasks for role in task.roles} - served)
    if all(task.roles for task in tasks) and not wanted:
        number = len(roles)
    else:
        number = max(len(roles), min(wanted or _width(tasks), most) - len(living))
    taken = {member.name for member in living}
    free = (name for name in map(WORKER_NAMES.format, count(1)) if name not in taken)
    places = [*roles, *["teammate"] * (number - len(roles))]
    return [{"name": name, "role": role} for role, name in zip(places, free, strict=False)]


def _width(tasks: Sequence[Task]) -> int:
    """How many of the tasks can be worked on at the same time at most, as their edges lie."""
    depth: dict[str, int] = {}
    for task in tasks:  # in the order of creation, so each behind those it needs
        depth[task.id] = 1 + max((depth[need] for need in task.blocked_by if need in depth), default=-1)
    return max(Counter(depth.values()).values(), default=1)
