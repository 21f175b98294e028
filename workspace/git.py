"""Every git command of the host: hardened, bounded in time, retried when another git holds a lock."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess  # noqa: TID251 - the one place that starts git
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from coordination.child import end_group
from coordination.clock import Clock, SystemClock
from coordination.errors import TeamError
from coordination.json_form import scrub
from coordination.team_root import find_root
from workspace.git_directory import WorktreeBroken, locate, registered
from workspace.git_locks import LockWatch
from workspace.git_pins import GitPins
from workspace.git_settings import SETTINGS, as_environment, host_environment, neutral

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.git_directory import GitDirectory

Given = bytes | BinaryIO  # the input of a command
TIMEOUT_SECONDS = 300.0  # a checkout of a very large repository
FIRST_PAUSE_SECONDS = 0.01  # before the second try, when another git holds a lock
LONGEST_PAUSE_SECONDS = 0.25
ASK_NO_OTHER = "--ignore-submodules=dirty"  # whatever `.gitmodules` says; else git starts git in each
# Commands that read or write files of a checkout, and so would run the repository's filters and drivers.
TOUCHES_FILES = frozenset(
    {"add", "checkout", "commit", "diff-index", "merge-tree", "status", "update-index", "worktree"}
)


@dataclass(eq=False)
class GitMissing(TeamError):
    """There is no git outside the repository itself."""

    says = "git is not installed; install git 2.39 or newer and try again"


@dataclass(eq=False)
class GitError(TeamError):
    """A git command failed."""

    command: str
    status: int
    stderr: str
    stdout: str = ""
    says = "git {command} failed with status {status}: {stderr}"


@dataclass(eq=False)
class GitTimeout(TeamError):
    """A git command did not end."""

    command: str
    seconds: float
    says = "git {command} did not end within {seconds:.0f} s and was stopped; check the disk, then try again"


@dataclass(eq=False)
class NoCommitYet(TeamError):
    """The repository has no first commit, so no worktree can be made of it."""

    path: str
    says = "{path} has no commit yet; make a first one, for example `git commit --allow-empty -m Start`"


@dataclass(eq=False)
class UnknownCommit(TeamError):
    """A name does not lead to a commit."""

    name: str
    says = "there is no commit {name} in the repository; name an existing commit or branch"


@dataclass(frozen=True, kw_only=True)
class _Ended:
    status: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What has to hold at the moment in which a branch is moved."""

    ref: str
    value: str  # the object that the ref has to stand at


class Git:
    """Git on one checkout: the repository that was given, or with `at` a worktree of it."""

    def __init__(
        self,
        repository: Path,
        *,
        clock: Clock | None = None,
        place: GitDirectory | None = None,
        pins: GitPins | None = None,
    ) -> None:
        """With `pins` every command looks first whether they hold. Raises NotARepository, GitMissing."""
        self._pins = pins
        self.place = place or locate(repository)
        self._clock = clock or SystemClock()
        self._program = find_git(self.place.common.parent)

    def at(self, tree: Path) -> Git:
        """Git on another linked worktree. Raises WorktreeBroken when it is not one of this repository."""
        place = registered(self.place.common, tree)
        if place.own == self.place.own:  # a person may work in a linked worktree too
            raise WorktreeBroken(path=str(tree), why="it is the person's own checkout")
        return Git(tree, clock=self._clock, place=place, pins=self._pins)

    def pinned(self) -> Git:
        """The same, but no command runs once the repository's configuration or hooks have changed.

        Such a command raises GitChanged.
        """
        pins = GitPins(self.place.common)
        return Git(self.place.tree, clock=self._clock, place=self.place, pins=pins)

    def run(
        self,
        *arguments: str,
        given: Given = b"",
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """What the command printed, without the last newline; `given`, an open file too, is its input.

        Raises GitError, GitTimeout.
        """
        ended = self._patiently(arguments, given, settings or {}, environment or {})
        printed = os.fsdecode(ended.stdout).removesuffix("\n")
        if ended.status:
            said = _one_line(ended.stderr)
            raise GitError(command=arguments[0], status=ended.status, stderr=said, stdout=printed)
        return printed

    def holds(self, *arguments: str) -> bool:
        """The answer of a command that says yes by status 0 and no by 1. Raises GitError."""
        ended = self._patiently(arguments, b"", {}, {})
        if ended.status not in {0, 1}:
            raise GitError(command=arguments[0], status=ended.status, stderr=_one_line(ended.stderr))
        return ended.status == 0

    def commit_of(self, name: str) -> str:
        """The full id of the commit that `name` leads to. Raises UnknownCommit, GitError."""
        if name.startswith("-"):  # never an option, whoever chose it
            raise UnknownCommit(name=name)
        try:
            return self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except GitError as error:
            if error.status != 1:  # git could not look at all: wrong owner, unreadable configuration
                raise
            raise UnknownCommit(name=name) from error

    def head(self) -> str:
        """The commit that is checked out. Raises NoCommitYet."""
        try:
            return self.commit_of("HEAD")
        except UnknownCommit as error:
            raise NoCommitYet(path=str(self.place.tree)) from error

    def tip(self, branch: str) -> str | None:
        """The commit at the end of a branch; None when there is no such branch."""
        if not self.holds("show-ref", "--verify", "--quiet", f"refs/heads/{branch}"):
            return None
        return self.commit_of(f"refs/heads/{branch}")

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True when `newer` contains `older`, or is it."""
        return older == newer or self.holds("merge-base", "--is-ancestor", older, newer)

    def checked_out_at(self, branch: str) -> Path | None:
        """The checkout, the main one or a worktree, that has the branch checked out."""
        tree = None
        for field in self.run("worktree", "list", "--porcelain", "-z").split("\0"):
            key, _, value = field.partition(" ")
            if key == "worktree":
                tree = Path(value)
            elif key == "branch" and value == f"refs/heads/{branch}":
                return tree
        return None

    def uncommitted(self) -> tuple[str, ...]:
        """Paths with edits that no commit holds, untracked ones included; the index is not refreshed."""
        listing = self.run("status", "--porcelain", "-z", "--no-renames", ASK_NO_OTHER)
        return tuple(scrub(entry[3:]) for entry in listing.split("\0") if entry)

    def tracks(self, path: Path) -> bool:
        """True for a file that the index holds, so that it comes with every clone."""
        name = os.path.relpath(path.resolve(), self.place.tree)
        return bool(self.run("ls-files", "-z", "--", name)) if name[:2] != ".." else False

    def changed_since(self, base: str) -> frozenset[str]:
        """Paths in which the files of the checkout differ from the commit `base`, untracked ones included."""
        listing = self.run("diff-index", "--name-only", "--no-renames", "-z", ASK_NO_OTHER, base, "--")
        return frozenset(scrub(name) for name in listing.split("\0") if name) | {*self.uncommitted()}

    def person_email(self) -> str:
        """The person's address, or one that can never exist where none is configured."""
        try:
            return self.run("config", "--get", "user.email") or "person@leadhand.invalid"
        except GitError:
            return "person@leadhand.invalid"

    def move_branch(self, branch: str, new: str, old: str | None, guard: Guard | None = None) -> bool:
        """The branch stands at `new` if it stood at `old` (None: if it did not exist); else False.

        Raises GitError, also when the guard's ref stands elsewhere: then nothing was moved.
        """
        steps = [f"verify {guard.ref} {guard.value}"] if guard else []
        steps.append(f"update refs/heads/{branch} {new} {old or '0' * len(new)}")
        try:
            self.run("update-ref", "-m", "leadhand", "--stdin", given="\n".join([*steps, ""]).encode())
        except GitError:
            if self.tip(branch) != old:
                return False
            raise
        return True

    def _patiently(
        self, arguments: tuple[str, ...], given: Given, settings: Mapping[str, str], extra: Mapping[str, str]
    ) -> _Ended:
        if self._pins:
            self._pins.check()
        watch = LockWatch(self.place.common, self._clock)
        pause = FIRST_PAUSE_SECONDS
        while True:
            guarded = {**SETTINGS, **self._neutral(arguments[0]), **settings}
            ended = self._once(arguments, given, {**as_environment(guarded), **extra})
            if not ended.status or not watch.worth_another_try(ended.stderr):
                return ended
            self._clock.sleep(pause * (1 + secrets.randbelow(100) / 100))  # waiters must not march in step
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _neutral(self, command: str) -> dict[str, str]:
        """Settings that put out of action what the repository's configuration would run, as it is now."""
        if command not in TOUCHES_FILES:
            return {}
        query = ("config", "-z", "--show-scope", "--get-regexp", r"^(filter|merge|hook)\.")
        return neutral(os.fsdecode(self._once(query, b"", as_environment(SETTINGS)).stdout))

    def _once(self, arguments: tuple[str, ...], given: Given, environment: Mapping[str, str]) -> _Ended:
        directories = {"GIT_DIR": str(self.place.own), "GIT_WORK_TREE": str(self.place.tree)}
        text = given if isinstance(given, bytes) else None
        with subprocess.Popen(
            [self._program, *arguments],
            cwd=self.place.tree,
            env={**host_environment(), **directories, **environment},
            stdin=subprocess.PIPE if isinstance(given, bytes) else given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal must not cut a git in the middle
        ) as process:
            try:
                stdout, stderr = process.communicate(text, timeout=TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise GitTimeout(command=arguments[0], seconds=TIMEOUT_SECONDS) from error
            finally:
                if process.poll() is None:
                    end_group(process.pid, self._clock)  # by TERM first, so that git removes its locks
        said = stderr.decode("utf-8", "replace").strip()
        return _Ended(status=process.returncode, stdout=stdout, stderr=said)


def _one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())


def find_git(place: Path) -> str:
    """The path of the git that is installed, never one of the repository around. Raises GitMissing."""
    found, repository = shutil.which("git"), find_root(place)
    if found is None or (repository and Path(found).resolve().is_relative_to(repository)):
        raise GitMissing
    return str(Path(found).absolute())
