"""Two commits become one merge commit, without a half-merged state on disk at any moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.git import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.git import Git

_CONFLICTS = 1  # exit status of merge-tree
_KIND = re.compile(r"CONFLICT \((.+)\)")


@dataclass(frozen=True, kw_only=True)
class Clash:
    """The files in which two commits cannot be combined."""

    files: tuple[str, ...]
    kinds: tuple[str, ...] = ()  # in git's words: contents, modify/delete, rename/rename, binary …


@dataclass(frozen=True, kw_only=True)
class MergedTree:
    """What git made of two commits; with a clash the tree has its marks in it."""

    tree: str
    clash: Clash | None = None


def merged_tree(git: Git, ours: str, theirs: str) -> MergedTree:
    """The tree with the changes of both. Raises GitError, also for commits without a common one."""
    try:
        listing = git.run("merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs)
    except GitError as error:
        if error.status != _CONFLICTS or not error.stdout:
            raise
        tree, *fields = error.stdout.split("\0")
        end = fields.index("")
        conflicts = list(_conflicts(fields[end + 1 :]))
        named = (*fields[:end], *(name for _, names in conflicts for name in names))
        files = dict.fromkeys(_without_side(name, ours, theirs) for name in named)
        kinds = dict.fromkeys(kind for kind, _ in conflicts)
        return MergedTree(tree=tree, clash=Clash(files=tuple(files), kinds=tuple(kinds)))
    return MergedTree(tree=listing.split("\0", 1)[0])


def _without_side(name: str, *sides: str) -> str:
    """Where two things want one name, git adds the side to one of them: `name~commit`."""
    for side in sides:
        name = name.removesuffix(f"~{side}")
    return name


def _conflicts(messages: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Kind and files of each, from messages as git lists them: number of paths, paths, kind, text."""
    at = 0
    while at < len(messages) and messages[at].isdigit():
        kind = at + int(messages[at]) + 1
        if match := _KIND.fullmatch(messages[kind]):
            yield match[1], messages[at + 1 : kind]
        at = kind + 2


def combine(git: Git, ours: str, theirs: str, message: str) -> str | Clash:
    """The id of a commit with both histories, first parent `ours`; no branch and no file changes.

    `git` is on a checkout of `ours`, because git reads there how each file wants to be merged.
    """
    merged = merged_tree(git, ours, theirs)
    if merged.clash:
        return merged.clash
    parents = ("-p", ours, "-p", theirs)
    return git.run(
        "commit-tree",
        merged.tree,
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
