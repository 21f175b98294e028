"""Work that cannot be brought back goes to a worker again: a new task that names the old one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination.records import Status
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import NotUnclaimed

if TYPE_CHECKING:
    from coordination.records import Task
    from coordination.stores import Stores


def send_back(stores: Stores, task: Task, why: str, **marks: bool) -> Task:
    """A new task stands on the board, to be done on the newest state; what needs the old one needs it too."""
    draft = TaskDraft(
        subject=task.subject,
        description=(
            f"{task.description}\n\nThis was done before in {task.id} (commit {task.commit}), but could not "
            f"be brought back: {why.rstrip('.')}. Do it again on the newest state; "
            f"`git show {task.commit}` shows how."
        ),
        run=task.run,
        priority=max(0, task.priority - 1),
        roles=task.roles,
        checks=task.checks,
        plan_required=task.plan_required,
        redo_of=task.id,
        max_attempts=task.max_attempts,
    )
    (again,) = stores.tasks.create([draft])
    return _publish(stores, task, again, why, **marks)


def finish_sending_back(stores: Stores, run: str) -> None:
    """What an earlier lead had begun to send back when it died is on the board for everybody."""
    tasks = {task.id: task for task in stores.tasks.all(run)}
    for again in tasks.values():
        if again.status is Status.HELD and again.redo_of in tasks:
            _publish(stores, tasks[again.redo_of], again, "an earlier lead had begun to")


def _publish(stores: Stores, task: Task, again: Task, why: str, **marks: bool) -> Task:
    for dependent in stores.tasks.dependents(task.id):
        if stores.tasks.get(dependent).status in {Status.HELD, Status.PENDING}:
            with suppress(NotUnclaimed):  # claimed since we looked: its tree has the commit itself
                stores.tasks.add_edges(dependent, [again.id])
    stores.tasks.publish([again.id])
    stores.events.record("sent_back", task=task.id, subject=task.subject, why=why, again=again.id, **marks)
    return again
