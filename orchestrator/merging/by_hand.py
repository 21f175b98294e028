"""What waits for its merge, and the person's way to bring the work of one task back."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from coordination.errors import UsageError
from coordination.records import Status
from coordination.tasks.rules import InvalidTransition
from harness.permissions.protected import is_secret
from orchestrator.inspection.story import held_up
from orchestrator.lead.standing import redone
from orchestrator.merging.outcomes import action_of, refusal, where_checked, work_of
from workspace.git import Git
from workspace.merge_queue import AlreadyThere, Held, Merged, MergeQueue
from workspace.sandbox.sandbox import Sight
from workspace.workplace import Workplace

if TYPE_CHECKING:
    from coordination.records import Task
    from coordination.stores import Stores
    from harness.settings.settings import Settings
    from workspace.merge_queue import MergeOutcome


def waiting(stores: Stores) -> list[dict[str, Any]]:
    """The completed tasks whose work is on no branch of a run, with the reason."""
    tasks = stores.tasks.all()
    again, held = redone(tasks), held_up(stores.team)
    return [
        {"task": task.id, "subject": task.subject, "commit": task.commit, "why": _why(task, held)}
        for task in tasks
        if task.status is Status.COMPLETED and task.merged is None and task.id not in again
    ]


def _why(task: Task, held: dict[str, str]) -> str:
    if not (task.result and task.result.verified):
        return "unverified: no check proves it"
    return held.get(task.id, "the lead has not come to it yet")


def merge_by_hand(stores: Stores, settings: Settings, task_id: str) -> dict[str, Any]:
    """What became of the work of the task: merged with every proof that the lead asks for, or why not.

    The person's word stands for what needs one: work without checks, and changes of what decides about
    this machine. Raises UsageError for a task that has nothing to merge.
    """
    task = _mergeable(stores, task_id)
    run = stores.runs.get(task.run or "")
    git = Git(stores.team.repository)
    workplace = Workplace(stores.team, git, settings, sight=Sight(is_secret=is_secret))
    queue = MergeQueue(
        git,
        [workplace.verifier("merge.by-hand")],
        branch=run.branch,
        base=run.base,
        timeout_seconds=settings.check_timeout_seconds,
    )
    outcome = queue.merge(work_of(task, workplace.proof(run.checks), is_reviewed=True))
    if isinstance(outcome, Merged | AlreadyThere):
        with suppress(InvalidTransition):  # the lead was faster
            stores.tasks.record_merge(task.id, outcome.commit)
            moved = {"task": task.id, "subject": task.subject, "commit": outcome.commit}
            checked = where_checked(outcome, sandboxed=queue.is_confined)
            stores.events.record(action_of(task, outcome), **moved, **checked)
        stores.tasks.refresh_views()
    return _told(task, run.branch, outcome)


def _mergeable(stores: Stores, task_id: str) -> Task:
    task = stores.tasks.get(task_id)
    if task.merged:
        raise UsageError(detail=f"{task_id} is merged already, as {task.merged:.10}")
    if task.status is not Status.COMPLETED or task.commit is None:
        raise UsageError(detail=f"{task_id} is {task.status}; only completed work can be merged")
    for other in stores.tasks.all(task.run):
        if other.redo_of == task_id:
            raise UsageError(detail=f"{task_id} is done again in {other.id} [{other.status}]; merge that one")
    return task


def _told(task: Task, branch: str, outcome: MergeOutcome) -> dict[str, Any]:
    facts: dict[str, Any] = {"task": task.id, "subject": task.subject, "branch": branch}
    match outcome:
        case Merged(commit=commit, results=results):
            return {**facts, "merged": commit, "checks": [result.name for result in results]}
        case AlreadyThere(commit=commit):
            return {**facts, "merged": commit, "why": "the branch held it before"}
        case Held(why=why):
            return {**facts, "merged": None, "why": why}
        case _:
            return {**facts, "merged": None, "why": refusal(outcome, branch)}
