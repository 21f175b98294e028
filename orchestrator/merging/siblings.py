"""Who has changed files that a merge changed as well is told, before the two conflict."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.mail.lines import BRANCH_MOVED
from coordination.protocols import LEAD
from coordination.records import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.records import Run, Task
    from coordination.stores import Stores
    from workspace.git import Git

SHOWN = 20  # files that are named one by one


def tell_siblings(
    stores: Stores, git: Git, merged: Task, run: Run, *, commit: str, files: Sequence[str]
) -> None:
    """Each teammate under whom files of its own changed has mail; what cannot be told is on record.

    Nobody else has: a merge is no reason to disturb those whose work it does not touch.
    """
    for task in stores.tasks.all(run.id):
        if task.status is not Status.IN_PROGRESS or task.owner in {None, LEAD}:
            continue
        touched = _touched(stores, git, task)
        both = [file for file in files if file in touched]
        if not both:
            continue
        others = [file for file in files if file not in both]
        text = changed_under_you(merged, run.branch, commit, both=both, others=others)
        try:
            stores.outbox.send(
                str(task.owner),
                text,
                type=BRANCH_MOVED,
                metadata={"task": merged.id, "commit": commit},
                message_id=f"msg_{commit[:12]}-{task.id}",
            )
        except TeamError as error:  # it has left, or is leaving
            stores.events.record("sibling_not_told", member=task.owner, merged=merged.id, why=str(error))


def changed_under_you(
    merged: Task, branch: str, commit: str, *, both: Sequence[str], others: Sequence[str]
) -> str:
    """What a merge means for somebody whose tree has changes of its own in the files `both`."""
    merge = f"{merged.subject} by {merged.owner} is on {branch} now ({commit:.10}); your tree is older."
    look = f"Look with `git show {commit:.10}` and make yours fit, or the two will conflict."
    lines = [merge, f"You change the same files: {_listed(both)}. {look}"]
    lines += [f"Also changed: {_listed(others)}"] if others else []
    return "\n".join(lines)


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(files[:SHOWN]) + more


def _touched(stores: Stores, git: Git, task: Task) -> frozenset[str]:
    """The files that the task's tree has changed so far; none where that cannot be seen."""
    if task.worktree is None or task.base is None:
        return frozenset()
    with suppress(TeamError):
        return git.at(stores.team.root / task.worktree).changed_since(task.base)
    return frozenset()
