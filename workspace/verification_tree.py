"""A tree of the runtime's own, in which checks and merges run: clean at a commit, whatever was in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from workspace.excludes import excluding
from workspace.git import GitError
from workspace.git_directory import WorktreeBroken

if TYPE_CHECKING:
    from workspace.git import Git


def check_out(git: Git, tree: Path, commit: str) -> Git:
    """A tree of the runtime's own stands clean and detached at `commit`, whatever was in it before.

    What git ignores stays, such as an installed environment. A tree that git cannot use any more is
    made anew: nobody keeps work in it.
    """
    try:
        here = git.at(tree)
        _clean_at(here, commit)
    except (WorktreeBroken, GitError):
        remove_directory(tree)
        tree.parent.mkdir(parents=True, exist_ok=True)
        git.run("worktree", "add", "--quiet", "--force", "--force", "--detach", str(tree), commit)
        here = git.at(tree)
    return here


def _clean_at(here: Git, commit: str) -> None:
    here.run("checkout", "--quiet", "--force", "--detach", commit)
    with excluding(here) as settings:  # what a set-up installed stays, also where the person ignores nothing
        here.run("clean", "--quiet", "-ffd", settings=settings)


def remove_directory(tree: Path) -> None:
    """Nothing is at the path any more. Raises OSError."""
    if tree.is_symlink() or tree.is_file():
        tree.unlink()
        return
    for directory, names, _ in os.walk(tree):  # some tools leave directories that nobody may change
        for inner in (Path(directory, name) for name in names):
            if not inner.is_symlink():
                inner.chmod(0o700)
    if tree.exists():
        shutil.rmtree(tree)
