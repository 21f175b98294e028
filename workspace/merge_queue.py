"""Bring commits back: merge on the side, prove the result, move the run's branch by compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.records import scrub
from workspace.checks import passed
from workspace.merging import Clash, combine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordination.records import CheckResult
    from workspace.checks import Verifier
    from workspace.git import Git, Guard

ATTEMPTS = 5  # a branch that somebody else moves more often than that is not the queue's to move


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The branch stands at a merge commit that holds the work."""

    commit: str
    results: tuple[CheckResult, ...]


@dataclass(frozen=True, kw_only=True)
class AlreadyThere:
    """The branch held the work before; nothing was done."""

    commit: str  # the one on the branch that brought it in


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Both sides changed the same places; nothing was done."""

    files: tuple[str, ...]
    ours: str  # tip of the branch
    theirs: str  # the commit that was to be merged
    ours_says: tuple[str, ...]  # commits of the branch that touched the files: id, author, subject
    theirs_says: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChecksRed:
    """Merged without conflict, but the result does not pass; the branch was not moved."""

    results: tuple[CheckResult, ...]


@dataclass(frozen=True, kw_only=True)
class Held:
    """Nothing was done, because somebody works on the branch itself."""

    why: str


MergeOutcome = Merged | AlreadyThere | Conflict | ChecksRed | Held


@dataclass(eq=False)
class BranchKeepsMoving(TeamError):
    """Somebody else moved the branch during each attempt."""

    branch: str
    says = "branch {branch} was moved by somebody else during every attempt to merge; stop that and try again"


class MergeQueue:
    """Merges into the branch of a run, one commit at a time; the verifier's tree is its own."""

    def __init__(
        self, git: Git, verifier: Verifier, *, timeout_seconds: float, guard: Guard | None = None
    ) -> None:
        """The branch is moved only while the guard holds; GitError when it does not."""
        self._guard = guard
        self._git = git
        self._verifier = verifier
        self._timeout_seconds = timeout_seconds

    def merge(
        self, commit: str, *, branch: str, base: str, message: str, checks: Mapping[str, str]
    ) -> MergeOutcome:
        """The work is on the branch, or the outcome says why not; a missing branch is made at `base`.

        Safe to repeat after a crash at any point. Raises BranchKeepsMoving, UnknownCommit, TreeMoved,
        GitError.
        """
        commit = self._git.commit_of(commit)
        for _ in range(ATTEMPTS):
            tip = self._tip(branch, base)
            if self._git.is_ancestor(commit, tip):
                return AlreadyThere(commit=self._brought_in_by(commit, tip))
            outcome = self._attempt(commit, tip, branch, message, checks)
            if outcome is not None:
                return outcome
        raise BranchKeepsMoving(branch=branch)

    def _tip(self, branch: str, base: str) -> str:
        tip = self._git.tip(branch)
        if tip is None:
            self._git.move_branch(
                branch, self._git.commit_of(base), None, self._guard
            )  # a lost race made it as well
            tip = self._git.commit_of(f"refs/heads/{branch}")
        return tip

    def _attempt(
        self, commit: str, tip: str, branch: str, message: str, checks: Mapping[str, str]
    ) -> MergeOutcome | None:
        """None when the branch was moved meanwhile."""
        if held := self._held(branch):
            return held
        merged = combine(self._verifier.check_out(tip), tip, commit, message)
        if isinstance(merged, Clash):
            return self._conflict(merged, tip, commit)
        results = self._verifier.verify(merged, checks, self._timeout_seconds)
        if not passed(results):
            return ChecksRed(results=results)
        if held := self._held(branch):  # the checks took their time
            return held
        moved = self._git.move_branch(branch, merged, tip, self._guard)
        return Merged(commit=merged, results=results) if moved else None

    def _held(self, branch: str) -> Held | None:
        where = self._git.checked_out_at(branch)
        if where is None:
            return None
        return Held(why=f"branch {branch} is checked out in {where}; switch to another branch there")

    def _brought_in_by(self, commit: str, tip: str) -> str:
        """The commit on the branch's own line that holds `commit` first."""
        later = self._git.run(
            "rev-list", "--first-parent", "--ancestry-path", "--reverse", f"{commit}..{tip}", "--"
        )
        return later.split("\n", 1)[0] or tip

    def _conflict(self, clash: Clash, tip: str, commit: str) -> Conflict:
        return Conflict(
            files=tuple(scrub(name) for name in clash.files),
            ours=tip,
            theirs=commit,
            ours_says=self._touched(clash.files, commit, tip),
            theirs_says=self._touched(clash.files, tip, commit),
        )

    def _touched(self, files: tuple[str, ...], without: str, of: str) -> tuple[str, ...]:
        listing = self._git.run(
            "log",
            "--no-merges",
            "--max-count=5",
            "--format=%h %an: %s",
            f"{without}..{of}",
            "--",
            *files[:100],
        )
        return tuple(scrub(line) for line in listing.splitlines())
