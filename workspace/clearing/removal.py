"""Remove a tree that holds nothing, or say why it stays; nothing that holds work is ever lost."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from coordination import layout
from coordination.errors import TeamError
from coordination.process import known_dead
from coordination.records import Status
from workspace.clearing.inventory import GOING, RUNTIMES_OWN, Contents, Inventory, try_contents
from workspace.git import GitError
from workspace.verification_tree import remove_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.records import Task
    from coordination.stores import Stores
    from workspace.clearing.inventory import Tree
    from workspace.git import Git
    from workspace.worktrees import Worktrees

SHOWN = 5  # names of files in a reason


@dataclass(eq=False)
class TreeKept(TeamError):
    """The tree stays; `code` is the reason for programs."""

    name: str
    code: str
    why: str
    says = "{name} is kept: {why}"

    @property
    def reason(self) -> str:
        return self.code


@dataclass(eq=False)
class NoSuchTree(TeamError):
    """The team has no tree of that name."""

    name: str
    known: str
    says = "there is no worktree {name}; there are: {known}"


@dataclass(eq=False)
class PartlyRemoved(TeamError):
    """A tree was taken away, but something of it is left."""

    name: str
    left: str
    cause: str
    says = "{name} was removed, but {left} is left ({cause}); `leadhand clean` tries again"


class Removal:
    """Removes trees for the host and the person, never for a model."""

    def __init__(self, stores: Stores, git: Git, trees: Worktrees) -> None:
        self._stores = stores
        self._git = git
        self._trees = trees

    def inventory(self) -> Inventory:
        """The trees as they are now."""
        return Inventory(self._git, self._trees, self._stores.tasks.all())

    def refusal(self, tree: Tree, *, discard: bool = False) -> TreeKept | None:
        """Why the tree has to stay, the first of the reasons in their order; None when it may go.

        `discard` gives up what is in no commit, but neither an unfinished task nor what still runs.
        """
        contents: Contents | str = Contents()
        if tree.exists and tree.registered and not tree.is_runtimes and not tree.is_unfinished:
            contents = try_contents(self.inventory(), tree)
        for code, why in self._reasons(tree, contents, discard=discard):
            if why:
                return TreeKept(name=tree.name, code=code, why=why)
        return None

    def _reasons(self, tree: Tree, contents: Contents | str, *, discard: bool) -> Iterator[tuple[str, str]]:
        yield "not_registered", _not_registered(tree)
        yield "on_branch", _on_branch(tree)
        yield "locked", _locked(tree)
        yield "active_task", _active_task(tree)
        yield "leased", self._leased(tree)
        yield "running", _running(tree) if tree.exists else ""
        if isinstance(contents, str):
            yield "unreadable", f"nobody can tell what it holds: {contents}"
        elif not discard:
            yield "work", _work(contents)
            yield "ignored_files", _ignored(contents)

    def _leased(self, tree: Tree) -> str:
        """Whoever completed a task keeps its tree to the end of the turn."""
        if tree.is_runtimes:
            who = tree.name.removeprefix(RUNTIMES_OWN)
            return f"{who} may run checks in it" if self._is_there(who) else ""
        task = tree.task if tree.is_bound else None
        holder = layout.split_bearer(task.lease.holder) if task and task.lease else None
        if task is None or holder is None or not self._is_there(*holder):
            return ""
        held = self._stores.tasks.own_unfinished(holder[0])
        return "" if held and held.id != task.id else f"{holder[0]} has not ended its turn in it"

    def _is_there(self, who: str, incarnation: int | None = None) -> bool:
        """Whether the process lives, as far as this host can know."""
        if who == "lead" or who.startswith("merge."):  # no name of a member has a dot
            led = self._stores.leadership.led()
            return led is not None and incarnation in {None, led[0]}
        member = self._stores.roster.member(who) if layout.MEMBER_NAME.fullmatch(who) else None
        if member is None or incarnation not in {None, member.incarnation}:
            return False
        return self._stores.roster.is_present(member.bearer) and not known_dead(member.process)

    def is_over(self, tree: Tree) -> bool:
        """Whether the work that the tree was made for is done and brought back, or called off."""
        if tree.task is None or not tree.task.status.is_final:
            return False
        return not tree.is_bound or _is_brought_back(tree.task)

    def remove(self, name: str, *, discard: bool = False) -> Tree:
        """The tree is gone, from the disk and from git's list; branches stay. Returns what it was.

        A commit that was on no branch gets one before. Raises NoSuchTree, TreeKept, PartlyRemoved.
        """
        inventory = self.inventory()
        tree = inventory.find(name)
        if tree is None:
            known = ", ".join(tree.name for tree in inventory.all()) or "none"
            raise NoSuchTree(name=name, known=known)
        if kept := self.refusal(tree, discard=discard):
            raise kept
        if (
            tree.registered
            and not tree.is_runtimes
            and (loose := inventory.unreachable(tree.registered.head))
        ):
            self._trees.keep(f"leadhand/kept/{name}", loose)
        self._take_away(tree)
        return tree

    def _take_away(self, tree: Tree) -> None:
        """In steps of which each leaves something that the next call understands.

        Under its new name a tree is nobody's any more; `sweep` removes what a crash leaves of it.
        """
        going = tree.path.with_name(f"{GOING}{tree.name}-{secrets.token_hex(4)}")
        left = tree.recorded
        try:
            if tree.exists:
                tree.path.rename(going)
                left = self._trees.recorded(going)
            if tree.registered:
                self._git.run("worktree", "remove", "--force", "--force", str(tree.path))
            with suppress(FileNotFoundError):  # somebody sweeps at the same time
                remove_directory(going)
        except (OSError, GitError) as error:
            raise PartlyRemoved(name=tree.name, left=left, cause=str(error)) from error

    def sweep(self) -> int:
        """What an interrupted removal left is gone; how many trees that were."""
        if not self._trees.directory.is_dir():
            return 0
        left = [path for path in self._trees.directory.iterdir() if path.name.startswith(GOING)]
        for path in left:
            with suppress(FileNotFoundError):  # another process sweeps too
                remove_directory(path)
        return len(left)


def _is_brought_back(task: Task) -> bool:
    return task.merged is not None or task.status is Status.CANCELLED


def _not_registered(tree: Tree) -> str:
    if tree.registered or tree.is_runtimes:
        return ""
    return "git does not list it, so nobody can tell what it holds; look into it, then delete it yourself"


def _on_branch(tree: Tree) -> str:
    branch = tree.registered.branch if tree.registered and tree.exists else None
    return f"branch {branch} is checked out in it; run `git checkout --detach` there first" if branch else ""


def _locked(tree: Tree) -> str:
    reason = tree.registered.locked if tree.registered and not tree.is_unfinished else None
    return (
        "" if reason is None else f"somebody locked it ({reason or 'no reason'}); run `git worktree unlock`"
    )


def _active_task(tree: Tree) -> str:
    task = tree.task
    if task is None or not tree.is_bound or task.status.is_final:
        return ""
    return f"{task.id} ({task.subject}) is {task.status} and goes on from it"


def _running(tree: Tree) -> str:
    for process in psutil.process_iter():
        try:
            inside = Path(process.cwd()).is_relative_to(tree.path)
            if inside and process.status() != psutil.STATUS_ZOMBIE:
                return f"process {process.pid} ({process.name()}) runs in it"
        except (psutil.Error, OSError):  # gone, or not ours to look at
            continue
    return ""


def _work(contents: Contents) -> str:
    if contents.changed:
        return f"it holds changes that no commit has: {_some(contents.changed)}"
    if contents.modules:
        return f"it holds submodules that may hold work: {_some(contents.modules)}"
    if contents.unreachable:
        return f"its commit {contents.unreachable:.10} is on no branch"
    return ""


def _ignored(contents: Contents) -> str:
    return f"it holds files that git ignores: {_some(contents.ignored)}" if contents.ignored else ""


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
