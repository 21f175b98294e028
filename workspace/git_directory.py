"""What git's own files say about a repository and its worktrees, read without starting a process."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from coordination.errors import TeamError

OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MAIN_HEAD = "HEAD"
_SMALL = 4096  # bytes; a `.git` file, a HEAD or a `gitdir` is one line


@dataclass(eq=False)
class NotARepository(TeamError):
    """The directory is not the top of a checkout."""

    path: str
    says = "{path} is not a git repository with a checkout; run `git init` there, or start inside one"


@dataclass(eq=False)
class WorktreeBroken(TeamError):
    """A worktree is not the one that was made: gone, unregistered, elsewhere, on a branch."""

    path: str
    why: str
    says = "invalid worktree {path}: {why}"


@dataclass(frozen=True, kw_only=True)
class GitDirectory:
    """The directories of one checkout."""

    tree: Path  # top of the files
    own: Path  # HEAD and index of this checkout
    common: Path  # objects, refs and configuration of the repository


def locate(tree: Path) -> GitDirectory:
    """The directories of the checkout whose top is `tree`. Raises NotARepository."""
    marker = tree / ".git"
    try:
        own = marker.resolve() if marker.is_dir() else (tree / _after(marker, "gitdir:")).resolve()
        shared = own / "commondir"
        common = (own / _line(shared)).resolve() if shared.is_file() else own
    except (OSError, ValueError) as error:
        raise NotARepository(path=str(tree)) from error
    if not (common / "objects").is_dir():
        raise NotARepository(path=str(tree))
    return GitDirectory(tree=tree.resolve(), own=own, common=common)


def registered(common: Path, tree: Path) -> GitDirectory:
    """The directories of a linked worktree, proven from both ends. Raises WorktreeBroken.

    The `.git` file of a worktree can be written by whoever works in it, so it is believed only where
    it names a registration of this repository that names the tree in turn.
    """
    if tree.is_symlink() or not tree.is_dir():
        why = "it is a link, not a directory" if tree.is_symlink() else "it is gone"
        raise WorktreeBroken(path=str(tree), why=why)
    try:
        own = (tree / _after(tree / ".git", "gitdir:")).resolve()
    except (OSError, ValueError) as error:
        raise WorktreeBroken(path=str(tree), why="its .git file is missing or damaged") from error
    if own.parent != common / "worktrees":
        raise WorktreeBroken(path=str(tree), why="its .git file names another repository")
    try:
        named = (own / _line(own / "gitdir")).resolve()
    except (OSError, ValueError) as error:
        raise WorktreeBroken(path=str(tree), why="git no longer lists it") from error
    if named != tree.resolve() / ".git":
        raise WorktreeBroken(path=str(tree), why=f"git lists it at {named.parent}")
    return GitDirectory(tree=tree.resolve(), own=own, common=common)


def detached_head(place: GitDirectory) -> str:
    """The commit that a worktree stands on. Raises WorktreeBroken when it is on a branch."""
    try:
        line = _line(place.own / MAIN_HEAD)
    except (OSError, ValueError) as error:
        raise WorktreeBroken(path=str(place.tree), why="its HEAD cannot be read") from error
    if OBJECT_ID.fullmatch(line):
        return line
    branch = line.removeprefix("ref:").strip().removeprefix("refs/heads/")
    why = "its HEAD is damaged" if branch == line else f"branch {branch} is checked out in it"
    raise WorktreeBroken(path=str(place.tree), why=why)


def _line(path: Path) -> str:
    """The one line of a small file, whatever a worker put in its place. Raises OSError, ValueError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(path)
        text = os.read(descriptor, _SMALL).decode("utf-8").strip()
    finally:
        os.close(descriptor)
    if not text or "\n" in text:
        raise ValueError(text)
    return text


def _after(path: Path, prefix: str) -> Path:
    line = _line(path)
    if not line.startswith(prefix):
        raise ValueError(line)
    return Path(line.removeprefix(prefix).strip())
