"""What trees there are, whose they are, and what they hold that is nowhere else."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pathspec

from coordination.json_form import scrub
from workspace.excludes import DERIVED, excluding
from workspace.git import ASK_NO_OTHER, GitError
from workspace.git_directory import WorktreeBroken
from workspace.setup.include import is_copy
from workspace.submodules import submodules, with_lost_files
from workspace.worktrees import UNFINISHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordination.records import Task
    from workspace.git import Git
    from workspace.worktrees import Worktrees

RUNTIMES_OWN = ".verify-"  # trees in which checks run; nobody keeps work in them
GOING = ".going-"  # a tree that was proven to hold nothing, on its way out
_OF_TASK = re.compile(r"(task_[0-9a-f]{8})-[0-9]+")


@dataclass(frozen=True, kw_only=True)
class Registered:
    """What git lists of a worktree."""

    path: Path
    head: str
    branch: str | None
    locked: str | None  # the reason, empty for none


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A worktree of the team: on disk, or listed by git, or both."""

    name: str
    path: Path
    recorded: str  # the path as tasks name it
    registered: Registered | None
    task: Task | None  # that it was made for
    is_bound: bool = False  # the task names it as the tree of its newest holder

    @property
    def exists(self) -> bool:
        return self.path.is_dir()

    @property
    def is_runtimes(self) -> bool:
        return self.name.startswith(RUNTIMES_OWN)

    @property
    def is_unfinished(self) -> bool:
        """Its making was cut short, so nobody has worked in it."""
        return self.registered is not None and self.registered.locked == UNFINISHED


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What is in a tree and in no commit."""

    changed: tuple[str, ...] = ()  # edits, and new files that git does not ignore
    ignored: tuple[str, ...] = ()  # without what any tool makes anew, and copies of the person's own
    modules: tuple[str, ...] = ()  # submodules with a checkout, whose own edits git does not show here
    unreachable: str | None = None  # its commit, if that is on no branch and no tag

    @property
    def holds_work(self) -> bool:
        return bool(self.changed or self.modules or self.unreachable)


class Inventory:
    """Looks at the trees of a team; nothing is changed."""

    def __init__(self, git: Git, trees: Worktrees, tasks: Iterable[Task]) -> None:
        self._git = git
        self._trees = trees
        self._tasks = {task.id: task for task in tasks}
        self._bound = {
            where: task for task in self._tasks.values() for where in (task.worktree, task.prepared) if where
        }

    def all(self) -> list[Tree]:
        """Every tree, those of tasks in order of their names, then the runtime's own."""
        listed = {entry.path: entry for entry in registered_trees(self._git)}
        paths = {path for path in listed if path.parent == self._trees.directory}
        paths |= set(_directories(self._trees.directory))
        paths |= {Path(os.path.normpath(self._trees.root / where)) for where in self._bound}
        found = [self._tree(path, listed.get(path)) for path in paths]
        there = [tree for tree in found if tree.exists or tree.registered]
        return sorted(there, key=lambda tree: (tree.is_runtimes, tree.name))

    def find(self, name: str) -> Tree | None:
        """The tree of that name."""
        return next((tree for tree in self.all() if tree.name == name), None)

    def _tree(self, path: Path, registered: Registered | None) -> Tree:
        recorded = self._trees.recorded(path)
        bound, made_for = self._bound.get(recorded), _OF_TASK.fullmatch(path.name)
        task = bound or (self._tasks.get(made_for[1]) if made_for else None)
        return Tree(
            name=path.name,
            path=path,
            recorded=recorded,
            registered=registered,
            task=task,
            is_bound=bound is not None,
        )

    def contents(self, tree: Tree) -> Contents:
        """What would be lost with it. Raises WorktreeBroken, GitError."""
        here = self._git.at(tree.path)
        with excluding(here) as settings:
            options = ("--porcelain", "-z", "--no-renames", "--ignored=matching", ASK_NO_OTHER)
            listing = here.run("status", *options, settings=settings)
        entries = [entry for entry in listing.split("\0") if entry]
        ignored = [entry[3:] for entry in entries if entry.startswith("!!")]
        changed = (scrub(entry[3:]) for entry in entries if not entry.startswith("!!"))
        return Contents(
            changed=(*changed, *with_lost_files(here)),
            ignored=tuple(scrub(name) for name in ignored if self._is_extra(tree, name)),
            modules=tuple(_modules(here)),
            unreachable=self.unreachable(here.head()),
        )

    def _is_extra(self, tree: Tree, name: str) -> bool:
        if pathspec.GitIgnoreSpec.from_lines(DERIVED.splitlines()).match_file(name):
            return False
        return not is_copy(self._git, tree.path, name)

    def unreachable(self, commit: str) -> str | None:
        """The commit, if no branch and no tag leads to it."""
        found = self._git.run(
            "for-each-ref",
            "--count=1",
            f"--contains={commit}",
            "--format=%(refname)",
            "refs/heads",
            "refs/tags",
        )
        return None if found else commit


def size_of(path: Path) -> int:
    """Bytes on disk below a directory, links not followed; what cannot be looked at counts nothing."""
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                total += Path(directory, name).lstat().st_blocks * 512
            except OSError:
                continue
    return total


def registered_trees(git: Git) -> Iterator[Registered]:
    """The linked worktrees that git lists, however many; the person's own too."""
    listing = git.run("worktree", "list", "--porcelain", "-z")
    for block in listing.split("\0\0"):
        fields = dict(field.partition(" ")[::2] for field in block.strip("\0").split("\0") if field)
        if "worktree" in fields and Path(fields["worktree"]) != git.place.tree:
            yield Registered(
                path=Path(fields["worktree"]),
                head=fields.get("HEAD", ""),
                branch=fields["branch"].removeprefix("refs/heads/") if "branch" in fields else None,
                locked=fields.get("locked"),
            )


def _directories(directory: Path) -> Iterator[Path]:
    if directory.is_dir():
        yield from (
            path
            for path in directory.iterdir()
            if path.is_dir() and not path.is_symlink() and not path.name.startswith(GOING)
        )


def _modules(here: Git) -> Iterator[str]:
    for name in submodules(here):
        if (here.place.tree / name / ".git").exists():
            yield scrub(name)


def try_contents(inventory: Inventory, tree: Tree) -> Contents | str:
    """What it holds, or why nobody can tell."""
    try:
        return inventory.contents(tree)
    except (WorktreeBroken, GitError) as error:
        return str(error)
