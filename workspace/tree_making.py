"""Make a tree with a name of one's own for a task that nobody has taken yet, or say exactly what is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.records import Status, Task
from workspace.clearing.inventory import registered_trees
from workspace.git import GitError
from workspace.git_directory import NotARepository, locate

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.records import Run
    from coordination.stores import Stores
    from workspace.clearing.inventory import Registered
    from workspace.clearing.removal import Removal
    from workspace.git import Git
    from workspace.worktrees import Worktrees


@dataclass(eq=False)
class NoTreeFor(TeamError):
    """The task cannot be given a tree now."""

    task: str
    why: str
    says = "{task} {why}, so no worktree can be made for it"


@dataclass(eq=False)
class NameBound(TeamError):
    """A tree of that name is another task's."""

    name: str
    task: str
    says = "the worktree {name} belongs to {task}; choose another name"


@dataclass(eq=False)
class PathTaken(TeamError):
    """Something lies where the tree would be made."""

    path: str
    what: str
    says = "{path} exists already ({what}); choose another name"


@dataclass(eq=False)
class NotTheTop(TeamError):
    """The team's repository is not the top of its checkout any more."""

    path: str
    says = "{path} is not the top of the repository any more; put its .git back, or start the team anew"


@dataclass(eq=False)
class RegistryUnreadable(TeamError):
    """Git cannot list its worktrees."""

    cause: str
    says = "git cannot list its worktrees ({cause}); run `git worktree list`, and mend what it says"


@dataclass(eq=False)
class PartialOperation(TeamError):
    """Git failed, and something of the tree is there; nothing was deleted."""

    name: str
    there: str
    cause: str
    says = (
        "Partial operation: git failed ({cause}), and of the worktree {name} there is: {there}; the task has "
        "no worktree, nothing was deleted. The person can look, and call `leadhand worktrees remove {name}`"
    )


@dataclass(eq=False)
class PartialSuccess(TeamError):
    """The tree is there, but the task could not be given it."""

    name: str
    path: str
    cause: str
    says = (
        "Partial success: the worktree {name} is at {path}, but the task could not be given it ({cause}); "
        "nothing was deleted. Recover by hand: `leadhand worktrees remove {name}`, then try again"
    )


class TreeMaker:
    """Makes trees beforehand; the holder of the task later works in them."""

    def __init__(self, stores: Stores, git: Git, trees: Worktrees, removal: Removal) -> None:
        self._stores = stores
        self._git = git
        self._trees = trees
        self._removal = removal

    def make(self, name: str, task_id: str, run: Run) -> Path:
        """The task's next holder works in a tree of that name, at the newest state of the run.

        What an earlier call left unfinished is taken away first: nobody has worked in it. Raises
        WorktreeName, UnknownTask, NoTreeFor, NameBound, PathTaken, NotTheTop, RegistryUnreadable,
        GitError, PartialOperation, PartialSuccess.
        """
        path = self._trees.path(name)
        self._check_task(task_id)
        self._check_place(name, path)
        try:
            self._trees.create(name, base=self._trees.newest(run.branch, run.base), finished=False)
        except GitError as error:
            self._report_left(name, path, error)
            raise
        self._bind(name, path, task_id)
        self._trees.finish(path)
        return path

    def _check_task(self, task_id: str) -> None:
        task = self._stores.tasks.get(task_id)
        if task.status not in {Status.HELD, Status.PENDING}:
            owner = f", owned by {task.owner}" if task.owner else ""
            raise NoTreeFor(task=task_id, why=f"is {task.status}{owner}")
        if bound := task.prepared or _of_former_holder(task):
            raise NoTreeFor(task=task_id, why=f"has the worktree {bound} already")

    def _check_place(self, name: str, path: Path) -> None:
        where, is_unfinished = self._trees.recorded(path), self._trees.is_unfinished(path)
        for task in self._stores.tasks.all():
            if where in {task.worktree, task.prepared} and not task.status.is_final:
                raise NameBound(name=name, task=task.id)
        if (path.is_symlink() or path.exists()) and not is_unfinished:
            raise PathTaken(path=where, what=_kind(path))
        self._check_top()
        if any(entry.path == path for entry in self._registry()) and not is_unfinished:
            raise PathTaken(path=where, what="git lists it, though its folder is gone")
        if is_unfinished:
            self._removal.remove(name)

    def _check_top(self) -> None:
        place = self._git.place
        try:
            is_same = locate(place.tree) == place
        except NotARepository:
            is_same = False
        if not is_same:
            raise NotTheTop(path=str(place.tree))

    def _registry(self) -> list[Registered]:
        try:
            return list(registered_trees(self._git))
        except GitError as error:
            raise RegistryUnreadable(cause=error.stderr) from error

    def _report_left(self, name: str, path: Path, error: GitError) -> None:
        """Raises PartialOperation for what a failed git has left; returns when there is nothing."""
        there = ["its directory"] if path.exists() else []
        if any(entry.path == path for entry in self._registry()):
            there.append("its entry in git's list")
        if there:
            raise PartialOperation(name=name, there=" and ".join(there), cause=error.stderr) from error

    def _bind(self, name: str, path: Path, task_id: str) -> None:
        where = self._trees.recorded(path)
        try:
            self._check_task(task_id)  # it may have been taken while git worked
            self._stores.tasks.prepare(task_id, where)
        except TeamError as error:
            raise PartialSuccess(name=name, path=where, cause=str(error)) from error


def _of_former_holder(task: Task) -> str | None:
    """Somebody worked on it: the next holder goes on from there, in a fresh tree."""
    return task.worktree


def _kind(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    return "a directory" if path.is_dir() else "a file"
