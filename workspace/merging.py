"""Two commits become one merge commit, without a half-merged state on disk at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.git import GitError

if TYPE_CHECKING:
    from workspace.git import Git

_CONFLICTS = 1  # exit status of merge-tree


@dataclass(frozen=True, kw_only=True)
class Clash:
    """The files in which two commits cannot be combined."""

    files: tuple[str, ...]


def combine(git: Git, ours: str, theirs: str, message: str) -> str | Clash:
    """The id of a commit with both histories, first parent `ours`; no branch and no file changes.

    `git` is on a checkout of `ours`, because git reads there how each file wants to be merged.
    """
    try:
        tree = git.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    except GitError as error:
        if error.status != _CONFLICTS or not error.stdout:
            raise
        _, *files = error.stdout.split("\0")
        return Clash(files=tuple(name for name in files if name))
    parents = ("-p", ours, "-p", theirs)
    return git.run(
        "commit-tree",
        tree.rstrip("\0"),
        *parents,
        given=message.encode("utf-8", "replace"),
        environment=authorship("leadhand", git.person_email()),
    )


def authorship(name: str, email: str) -> dict[str, str]:
    """Who a commit is by: the member (or leadhand), at the person's address."""
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }
