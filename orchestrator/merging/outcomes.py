"""Pure: a task as work for the merge queue, and in words why it was not merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.desk import checks_of
from workspace.merge_queue import AlreadyThere, ChecksRed, Conflict, Merged, Unproven, Work

if TYPE_CHECKING:
    from coordination.records import Task
    from workspace.desk import Proof
    from workspace.merge_queue import MergeOutcome

_FAULTS = 5  # of a merge that is not proven, told in full
_TAIL = 5  # lines of a failed check


def work_of(task: Task, proof: Proof, *, is_reviewed: bool = False) -> Work:
    """What the queue needs to know of a completed task. Raises UnknownCheck."""
    assert task.commit is not None
    return Work(
        commit=task.commit,
        message=f"Merge {task.subject}\n\nLeadhand-Task: {task.id}\nLeadhand-Member: {task.owner}",
        checks=checks_of(task, proof),
        task=task.id,
        is_reviewed=is_reviewed,
    )


def action_of(task: Task, outcome: Merged | AlreadyThere) -> str:
    """The event that tells of it: work that changed no file is not told as a merge."""
    return "changed_nothing" if isinstance(outcome, AlreadyThere) and task.commit == task.base else "merged"


def where_checked(outcome: MergeOutcome | None, *, sandboxed: bool) -> dict[str, bool]:
    """What the event of an outcome says of where its checks ran; nothing where none did."""
    ran = isinstance(outcome, Merged | ChecksRed) and outcome.results
    return {"sandboxed": sandboxed} if ran else {}


def refusal(outcome: Conflict | Unproven | ChecksRed, branch: str) -> str:
    """Why the work cannot be brought back as it is."""
    match outcome:
        case Conflict(files=files, kinds=kinds):
            ours, theirs = "; ".join(outcome.ours_says), "; ".join(outcome.theirs_says)
            where = f"{', '.join(files)} ({', '.join(kinds)})" if kinds else ", ".join(files)
            return f"it conflicts with {branch} in {where}; there: {ours}; here: {theirs}"
        case Unproven(faults=faults):
            more = f"; and {len(faults) - _FAULTS} more" if len(faults) > _FAULTS else ""
            return f"the merge with {branch} is not proven: {'; '.join(faults[:_FAULTS])}{more}"
        case ChecksRed(results=results):
            red = [result for result in results if result.exit_code != 0]
            said = "\n".join(line for result in red for line in result.output.splitlines()[-_TAIL:])
            return f"merged with {branch} its checks fail: {', '.join(result.name for result in red)}\n{said}"
