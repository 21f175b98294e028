"""The tree of a claimed task: what it starts from, and what becomes of a task that can have none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from coordination.records import Task, TaskResult
from coordination.tasks.rules import Event
from workspace.git import UnknownCommit
from workspace.git_directory import WorktreeBroken
from workspace.worktrees import CannotCombine

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.errors import TeamError
    from coordination.records import Run
    from coordination.tasks.store import TaskStore
    from coordination.team_root import Team
    from workspace.worktrees import Worktrees

NO_TREE = "no worktree could be made"  # how the reason of such a release begins


def tree_name(task: Task) -> str:
    """The name of the tree that the holder of the present token makes for itself."""
    return f"{task.id}-{task.token}"


def is_bound(store: TaskStore, task: Task) -> bool:
    """A tree was made for its present holder, in this life or a former one, not for one before."""
    steps = [version.event for _, version in store.history(task.id)]
    last = next((step for step in reversed(steps) if step in {Event.CLAIM, Event.BIND}), None)
    return last == Event.BIND


class TreeOfTask:
    """Makes the trees of tasks; an object belongs to one thread at a time."""

    def __init__(self, team: Team, store: TaskStore, trees: Worktrees) -> None:
        self._team = team
        self._store = store
        self._trees = trees

    def make(self, task: Task, run: Run) -> Path:
        """Where the claimed task is worked on. Raises CannotCombine, UnknownCommit and what git comes to."""
        self._team.directory.check()  # git would make a tree in whatever stands in the place of the root
        name, base = tree_name(task), self._trees.newest(run.branch, run.base)
        wanted = [blocker.commit for blocker in self._unmerged_needs(task) if blocker.commit]
        former = (self._trees.last_commit(task.worktree) if task.worktree else None) or task.commit
        if task.prepared and not former:
            with suppress(WorktreeBroken):  # it is gone; the holder gets a fresh one as always
                path = self._trees.path(PurePath(task.prepared).name)
                self._trees.bring_up(path, base=base, also=wanted)
                return path
        if former:
            with suppress(CannotCombine, UnknownCommit):  # it contradicts the newest state, or is gone
                return self._trees.create(name, base=base, also=[*wanted, former], finished=False)
        return self._trees.create(name, base=base, also=wanted, finished=False)

    def _unmerged_needs(self, task: Task) -> list[Task]:
        blockers = [self._store.get(blocker) for blocker in task.blocked_by]
        redone = {blocker.redo_of for blocker in blockers}  # what could not be merged, and was done again
        return [blocker for blocker in blockers if not blocker.merged and blocker.id not in redone]

    def give_up(self, task: Task, error: TeamError) -> None:
        """The task is on the board again, which is no attempt, or has failed: nobody takes it for ever."""
        why = f"{NO_TREE}: {error}"
        if isinstance(error, (CannotCombine, UnknownCommit)) and self._is_hopeless(task):
            self._store.fail(task.id, task.token or 0, TaskResult(text=why), why)
        else:
            self._store.release(task.id, task.token or 0, why)

    def _is_hopeless(self, task: Task) -> bool:
        """It was tried often enough, and no merge is to come that would settle it."""
        released = [version.why for _, version in self._store.history(task.id) if version.event == "release"]
        tries = 1 + sum(why.startswith(NO_TREE) for why in released)
        to_come = [need for need in self._unmerged_needs(task) if need.result and need.result.verified]
        return tries >= task.max_attempts and not to_come
