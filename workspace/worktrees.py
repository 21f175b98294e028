"""Make a tree for a task, check that it is still the right one, and collect the work done in it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import TeamError
from coordination.json_form import scrub
from workspace.excludes import excluding
from workspace.git import GitError
from workspace.git_directory import WorktreeBroken, detached_head, registered
from workspace.merging import Clash, authorship, combine
from workspace.sandbox.program import SandboxMissing
from workspace.sandbox.taking_over import NotTakenOver
from workspace.submodules import REPOSITORY, refuse_lost_files, unasked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.team_root import Team
    from workspace.git import Git

UNFINISHED = "leadhand is making it"  # why git lists a tree as locked that nobody has worked in
_NO_COMMIT_INSIDE = re.compile(r"'(.+?)/?' does not have a commit checked out")


@dataclass(eq=False)
class WorktreeExists(TeamError):
    """The name of a worktree is taken; nobody works in a tree that was made for another task."""

    path: str
    says = "{path} exists already; choose another name"


@dataclass(eq=False)
class WorktreeName(TeamError):
    """The name cannot be the name of a worktree."""

    name: str
    says = "{name!r} is no name for a worktree; use letters, digits, - and _, 64 at most"


@dataclass(eq=False)
class CannotCombine(TeamError):
    """The commits a task builds on contradict each other."""

    base: str
    commit: str
    files: tuple[str, ...]
    says = "commits {base:.10} and {commit:.10} conflict in {files}; merge one of them first, then try again"


@dataclass(eq=False)
class NestedRepository(TeamError):
    """A directory of the tree is a repository of its own, whose files no commit of the tree would hold."""

    path: str
    says = "{path} is a git repository of its own; remove its .git directory, ignore it, or move it away"


@dataclass(eq=False)
class BranchMoved(TeamError):
    """Another process moved the branch that keeps the work at the same time."""

    branch: str
    says = "branch {branch} was moved by another process at the same time; try again"


def trees_directory(team: Team, configured: str | None) -> Path:
    """Where the trees of a team lie, given the setting `worktrees.dir`.

    Outside the root each team has a directory of its own, so that teams may share the setting.
    """
    if configured is None:
        return team.root / layout.WORKTREES
    return (team.root / Path(configured).expanduser()).resolve() / f"{team.root.name}-{team.id}"


class Worktrees:
    """The worktrees of one team."""

    def __init__(
        self,
        git: Git,
        root: Path,
        directory: Path | None = None,
        *,
        take_over: Callable[[Git], None] = lambda _: None,
    ) -> None:
        """The trees lie in `directory`, or else where they usually do below the team root.

        `take_over` brings into the repository what commands committed in a tree out of its reach.
        """
        self._take_over = take_over
        self.directory = (directory or root / layout.WORKTREES).resolve()
        self._git = git
        self.root = root.resolve()
        self._descends = lru_cache(maxsize=256)(git.is_ancestor)

    def path(self, name: str) -> Path:
        """Where the tree of that name lies. Raises WorktreeName."""
        if not layout.MEMBER_NAME.fullmatch(name):
            raise WorktreeName(name=name)
        return self.directory / name

    def recorded(self, path: Path) -> str:
        """The path as state files have it: relative to the root, so that machines may mount it elsewhere."""
        return os.path.relpath(path, self.root)

    def create(self, name: str, *, base: str, also: Sequence[str] = (), finished: bool = True) -> Path:
        """A new tree on a detached head at `base`, with the commits of `also` merged in.

        Until it is `finished` git lists it as locked, with a reason by which a tree that was left
        unfinished by a crash is known. Nothing is left behind when it fails. Raises WorktreeName,
        WorktreeExists, UnknownCommit, CannotCombine, GitError.
        """
        path = self.path(name)
        start = self._git.commit_of(base)
        wanted = [self._git.commit_of(commit) for commit in also]
        if path.exists() or path.is_symlink():
            raise WorktreeExists(path=self.recorded(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._git.run(
                "worktree", "add", "--quiet", "--detach", "--lock", "--reason", UNFINISHED, str(path), start
            )
        except GitError as error:
            if "already registered" in error.stderr or "already exists" in error.stderr:
                raise WorktreeExists(path=self.recorded(path)) from error
            raise
        try:
            self._bring_in(self._git.at(path), start, wanted)
        except CannotCombine:  # ours alone: nobody was told of it
            self._git.run("worktree", "remove", "--force", "--force", str(path))
            raise
        if finished:
            self.finish(path)
        return path

    def finish(self, path: Path) -> None:
        """The tree is somebody's from now on; one that is finished stays so. Raises WorktreeBroken."""
        if (registered(self._git.place.common, path).own / "locked").exists():
            self._git.run("worktree", "unlock", str(path))

    def is_unfinished(self, path: Path) -> bool:
        """The tree's making was cut short, so nobody has worked in it."""
        try:
            lock = registered(self._git.place.common, path).own / "locked"
            return lock.read_text(encoding="utf-8").strip() == UNFINISHED
        except (WorktreeBroken, OSError, UnicodeDecodeError):
            return False

    def bring_up(self, path: Path, *, base: str, also: Sequence[str] = ()) -> None:
        """A tree in which nobody has worked stands at `base`, with the commits of `also` merged in.

        Files that somebody put into it stay. Raises WorktreeBroken, UnknownCommit, CannotCombine, and
        GitError when such a file is in the way.
        """
        here = self._git.at(path)
        start = self._git.commit_of(base)
        here.run("checkout", "--quiet", "--detach", start)
        self._bring_in(here, start, [self._git.commit_of(commit) for commit in also])

    def _bring_in(self, here: Git, start: str, wanted: Sequence[str]) -> None:
        head = start
        for commit in wanted:
            if here.is_ancestor(commit, head):
                continue
            merged = combine(here, head, commit, f"Build on {commit:.10}\n")
            if isinstance(merged, Clash):
                raise CannotCombine(base=head, commit=commit, files=tuple(map(scrub, merged.files)))
            here.run("checkout", "--quiet", "--detach", merged)
            head = merged

    def lease_problem(self, path: Path, base: str) -> str | None:
        """Why nobody may work in this tree now; None when all is well.

        Reads three small files of git; a process is started only when the head has moved.
        """
        if not self._is_ours(path):
            return f"{path} is not a worktree of this team"
        try:
            head = detached_head(registered(self._git.place.common, path))
            if head != base and not self._descends(base, head):
                return f"invalid worktree {path}: its head {head:.10} does not descend from {base:.10}"
        except (WorktreeBroken, GitError) as error:
            return str(error)
        return None

    def _is_ours(self, path: Path) -> bool:
        return bool(layout.MEMBER_NAME.fullmatch(path.name)) and path.parent.resolve() == self.directory

    def git_at(self, path: Path) -> Git:
        """Git on the tree. Raises WorktreeBroken."""
        return self._git.at(path)

    def head(self, path: Path) -> str:
        """The commit that the tree stands on. Raises WorktreeBroken."""
        return detached_head(registered(self._git.place.common, path))

    def last_commit(self, worktree: str) -> str | None:
        """The commit that a former tree (relative to the root) stands on; None when it is gone."""
        path = self.root / worktree
        try:
            with suppress(NotTakenOver, SandboxMissing):  # its files are there all the same
                self._take_over(self._git.at(path))
            return self.head(path)
        except WorktreeBroken:
            return None

    def newest(self, branch: str, base: str) -> str:
        """The commit at the end of the branch, or `base` while there is no such branch."""
        return self._git.tip(branch) or base

    def diff_stat(self, base: str, commit: str) -> str:
        """What changed from `base` to `commit`, a line per file and a total; empty for nothing."""
        options = ("--stat=100", "--stat-count=100", "--no-ext-diff", "--no-textconv")
        return scrub(self._git.run("diff", *options, base, commit, "--"))

    def snapshot(self, path: Path, *, message: str, member: str, task: str) -> str:
        """Everything in the tree is in a commit, whose id is returned: the head where nothing is new.

        No branch moves, even if one was checked out in the tree. Raises WorktreeBroken,
        NestedRepository, NotTakenOver, GitError.
        """
        if not self._is_ours(path):
            raise WorktreeBroken(path=str(path), why="it is not a worktree of this team")
        here = self._git.at(path)
        self._take_over(here)
        here.run("update-ref", "--no-deref", "HEAD", here.head())  # off any branch, all files as they are
        self._stage(here)
        if not here.holds("diff-index", "--cached", "--quiet", "HEAD", "--"):
            text = f"{scrub(message).strip() or task}\n\nLeadhand-Task: {task}\n"
            here.run(
                "commit",
                "--quiet",
                "--no-verify",
                "--cleanup=whitespace",
                "--file=-",
                given=text.encode("utf-8"),
                environment=authorship(member, here.person_email()),
            )
        return here.head()

    def keep(self, branch: str, commit: str) -> None:
        """The branch stands at the commit; what it held and the commit does not gets a branch of its own.

        Raises BranchMoved.
        """
        held = self._git.tip(branch)
        if held and not self._git.is_ancestor(held, commit):
            self._git.move_branch(f"{branch}-{held:.10}", held, None)
        if held != commit and not self._git.move_branch(branch, commit, held):
            raise BranchMoved(branch=branch)

    def _stage(self, here: Git) -> None:
        refuse_lost_files(here)
        with excluding(here) as settings, unasked(here):
            try:
                here.run("add", "--all", "--sparse", settings=settings)
            except GitError as error:
                if nested := _NO_COMMIT_INSIDE.search(error.stderr):
                    raise NestedRepository(path=nested[1]) from error
                raise
        added = here.run("diff-index", "--cached", "--raw", "--diff-filter=A", "-z", "HEAD", "--").split("\0")
        for entry, name in zip(added[::2], added[1::2], strict=False):
            if entry.split()[1] == REPOSITORY and not (here.place.tree / ".gitmodules").exists():
                raise NestedRepository(path=scrub(name))
