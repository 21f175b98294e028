"""Find the repository around a directory, and refuse it where a team could not work, with the way out."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from coordination.errors import TeamError
from workspace.git import Git, GitError, find_git
from workspace.git_directory import NotARepository

OLDEST = (2, 39)
OURS = "leadhand"  # what all branches of teams begin with
_PERSONS = frozenset({"global", "system", "command"})  # where `safe.directory` counts


@dataclass(eq=False)
class GitTooOld(TeamError):
    """The git that is installed lacks commands that a merge needs."""

    version: str
    says = "git {version} is too old; install git 2.39 or newer and try again"


@dataclass(eq=False)
class BranchInTheWay(TeamError):
    """A branch has the name under which git would have to keep the team's branches."""

    branch: str
    says = (
        "the branch {branch} is in the way of the team's branches {branch}/…; "
        "rename it: git branch -m {branch} NEWNAME"
    )


@dataclass(eq=False)
class ForeignRepository(TeamError):
    """The repository belongs to somebody else, and git was not told to trust it."""

    path: str
    says = (
        "{path} belongs to another user, so git commands of agents would fail there; "
        "if you trust it: git config --global --add safe.directory {path}"
    )


def open_repository(path: Path) -> Git:
    """Git on the repository that holds `path`, ready to make worktrees of its commits.

    Raises NotARepository, NoCommitYet, GitMissing, GitTooOld, ForeignRepository, BranchInTheWay.
    """
    find_git(path)  # GitPython cannot even be imported without one
    import git  # noqa: PLC0415 - costs 120 ms, and only the first command of a person needs it

    try:
        with git.Repo(path, search_parent_directories=True, expand_vars=False) as repository:
            top = repository.working_tree_dir
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as error:
        raise NotARepository(path=str(path)) from error
    if top is None:  # a bare one
        raise NotARepository(path=str(path))
    opened = Git(Path(top))
    version = opened.run("version").removeprefix("git version ")
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        raise GitTooOld(version=version)
    opened.head()
    _refuse_unfit(opened)
    return opened


def _refuse_unfit(git: Git) -> None:
    """Raises ForeignRepository, BranchInTheWay."""
    place = git.place
    if not all(_is_ours(path) for path in (place.tree, place.own)) and not _is_trusted(git):
        raise ForeignRepository(path=str(place.tree))
    if git.tip(OURS):
        raise BranchInTheWay(branch=OURS)


def _is_ours(path: Path) -> bool:
    """As git judges it; what sudo runs may use what belongs to its caller."""
    owners = {os.geteuid()}
    if os.geteuid() == 0 and (caller := os.environ.get("SUDO_UID", "")).isdecimal():
        owners.add(int(caller))
    return path.stat().st_uid in owners


def _is_trusted(git: Git) -> bool:
    """Whether the person's own configuration names the directory; the repository's does not count."""
    try:
        listing = git.run("config", "-z", "--show-scope", "--get-all", "safe.directory")
    except GitError:  # nothing is named
        return False
    fields = listing.split("\0")
    persons = [path for scope, path in zip(fields[::2], fields[1::2], strict=False) if scope in _PERSONS]
    trusted = persons[len(persons) - persons[::-1].index("") :] if "" in persons else persons
    place = str(git.place.tree)
    return any(
        path == "*" or path.rstrip("/") == place or (path.endswith("/*") and place.startswith(path[:-1]))
        for path in trusted
    )
