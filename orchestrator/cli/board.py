"""The verbs by which a person changes the board: tasks add, cancel, redo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from coordination.errors import UsageError
from coordination.records import Status, Task
from coordination.tasks.drafts import TaskDraft
from orchestrator.cli.shared import persons_stores, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from coordination.records import Run
    from coordination.stores import Stores

_UNCLAIMED = {Status.HELD, Status.PENDING}


@click.command("add")
@click.argument("subject")
@click.option("--description", default="", help="All that a teammate must know; it sees nothing else.")
@click.option("--needs", multiple=True, metavar="ID", help="A task that must be completed first; repeatable.")
@click.option("--check", "checks", multiple=True, metavar="NAME", help="A check that proves it; repeatable.")
@click.option("--priority", type=click.IntRange(0, 9), default=5, show_default=True, help="0 comes first.")
@click.option("--role", "roles", multiple=True, help="Only members of this role may claim it; repeatable.")
@click.option("--plan", is_flag=True, help="No change before an approved plan.")
@team_option
def add_task(  # noqa: PLR0913 - a task has that many sides
    *,
    subject: str,
    description: str,
    needs: tuple[str, ...],
    checks: tuple[str, ...],
    priority: int,
    roles: tuple[str, ...],
    plan: bool,
    team_directory: Path | None,
) -> None:
    """Add a task to the open run; it can be claimed at once."""
    stores = persons_stores(team_directory)
    run = stores.runs.open_run()
    if run is None:
        raise UsageError(detail="no run is open here; start one with `leadhand run GOAL`")
    if unknown := [check for check in checks if check not in run.checks]:
        known = ", ".join(run.checks) or "none"
        raise UsageError(detail=f"the run has no check {', '.join(unknown)}; known are: {known}")
    if roles:
        from harness.catalogs import pinned_catalogs

        pinned_catalogs(stores.team.directory, run.digests).roles.check(roles)
    draft = TaskDraft(
        subject=subject,
        description=description,
        run=run.id,
        blocked_by=needs,
        checks=checks,
        priority=priority,
        roles=roles,
        plan_required=plan,
    )
    _publish(stores, stores.tasks.create([draft]))


@click.command("cancel")
@click.argument("task_id")
@click.option("--why", default="not wanted any more", show_default=True, help="Kept in its history.")
@team_option
def cancel_task(*, task_id: str, why: str, team_directory: Path | None) -> None:
    """Nobody works on the task any more; whoever holds it is stopped, and its work is kept."""
    stores = persons_stores(team_directory)
    task = stores.tasks.cancel(task_id, why)
    stores.tasks.refresh_views()
    waiting = ", ".join(other.id for other in _waiting_for(stores, task_id))
    echo(f"cancelled {task.id}: {task.subject}" + (f"; never ready now: {waiting}" if waiting else ""))


@click.command("redo")
@click.argument("task_id")
@team_option
def redo_task(*, task_id: str, team_directory: Path | None) -> None:
    """Do a finished task again: a new task that names the old one, and what waits for it waits for that."""
    stores = persons_stores(team_directory)
    old = stores.tasks.get(task_id)
    if not old.status.is_final:
        raise UsageError(detail=f"{task_id} is {old.status}; cancel it first, or let it end")
    _open_again(stores, stores.runs.get(old.run or ""))
    waiting = _waiting_for(stores, task_id)
    if old.status is Status.COMPLETED:
        new = stores.tasks.create([_again(old)])
        for task in waiting:
            stores.tasks.add_edges(task.id, [new[0].id])
    else:  # an edge onto what failed cannot be taken back, so those that have one are made anew as well
        new = stores.tasks.create([_again(task) for task in (old, *waiting)])
        for task in waiting:
            stores.tasks.cancel(task.id, f"{task_id} is done again as {new[0].id}")
    _publish(stores, new)


def _again(task: Task) -> TaskDraft:
    """Named by the old id among the drafts of one call, so that edges between old ones become new edges."""
    return TaskDraft(
        key=task.id,
        redo_of=task.id,
        subject=task.subject,
        description=task.description,
        run=task.run,
        priority=task.priority,
        roles=task.roles,
        blocked_by=task.blocked_by,
        checks=task.checks,
        plan_required=task.plan_required,
        max_attempts=task.max_attempts,
    )


def _waiting_for(stores: Stores, task_id: str) -> list[Task]:
    """The unclaimed tasks that need this one; behind one that is over, those that need them too."""
    found: dict[str, Task] = {}
    over = stores.tasks.get(task_id).status in {Status.FAILED, Status.CANCELLED}

    def unclaimed(ids: Iterable[str]) -> Iterator[Task]:
        return (task for task in map(stores.tasks.get, ids) if task.status in _UNCLAIMED)

    ahead = list(unclaimed(stores.tasks.dependents(task_id)))
    while ahead:
        task = ahead.pop(0)
        if task.id not in found:
            found[task.id] = task
            ahead += unclaimed(stores.tasks.dependents(task.id)) if over else []
    return list(found.values())


def _open_again(stores: Stores, run: Run) -> None:
    present = stores.runs.open_run()
    if run.state == "done" or (present and present.id != run.id):
        raise UsageError(detail=f"{run.id} is {run.state}; start a new run with `leadhand run GOAL`")
    if present is None:
        stores.runs.update(run.id, state="open")
        echo(f"{run.id} is open again; go on with `leadhand resume`")


def _publish(stores: Stores, tasks: list[Task]) -> None:
    stores.tasks.publish(task.id for task in tasks)
    stores.tasks.refresh_views()
    for task in tasks:
        again = f" (again {task.redo_of})" if task.redo_of else ""
        echo(f"added {task.id}: {task.subject}{again}")
