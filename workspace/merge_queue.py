"""Bring commits back: merge on the side, prove the result, move the run's branch by compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.json_form import scrub
from workspace.checks import passed
from workspace.host_files import deciding
from workspace.merge_proof import unproven
from workspace.merging import Clash, combine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from coordination.records import CheckResult
    from workspace.checks import Verifier
    from workspace.git import Git, Guard

ATTEMPTS = 5  # a branch that somebody else moves more often than that is not the queue's to move


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The branch stands at a merge commit that holds the work."""

    commit: str
    files: tuple[str, ...]  # that differ from what the branch had before
    results: tuple[CheckResult, ...]


@dataclass(frozen=True, kw_only=True)
class AlreadyThere:
    """The branch held the work before; nothing was done."""

    commit: str  # the one on the branch that brought it in


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Both sides changed the same places; nothing was done."""

    files: tuple[str, ...]
    kinds: tuple[str, ...]  # contents, modify/delete, rename/rename, binary …
    ours: str  # tip of the branch
    theirs: str  # the commit that was to be merged
    ours_says: tuple[str, ...]  # commits of the branch that touched the files: id, author, subject
    theirs_says: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Unproven:
    """Merged without conflict, but the result is not what its sides lead to; the branch was not moved."""

    faults: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChecksRed:
    """Merged without conflict, but the result does not pass; the branch was not moved."""

    results: tuple[CheckResult, ...]


@dataclass(frozen=True, kw_only=True)
class Held:
    """Nothing was done; a person has to act first."""

    why: str


MergeOutcome = Merged | AlreadyThere | Conflict | Unproven | ChecksRed | Held


@dataclass(frozen=True, kw_only=True)
class Work:
    """A commit that is to be brought back, and what has to pass with it."""

    commit: str
    message: str  # of the merge commit
    checks: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    is_reviewed: bool = False  # a person has looked at it


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A merge that is proven to hold both sides; its checks and its place on the branch are to come."""

    work: Work
    onto: str  # tip of the branch, or the candidate before
    merged: str
    verifier: Verifier


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What became of a work before any check of it ran."""

    work: Work
    outcome: MergeOutcome


@dataclass(eq=False)
class BranchKeepsMoving(TeamError):
    """Somebody else moved the branch during each attempt."""

    branch: str
    says = "branch {branch} was moved by somebody else during every attempt to merge; stop that and try again"


class MergeQueue:
    """Merges into the branch of a run; the trees of its verifiers are its own.

    Commits are lined up one behind the other, each merged onto the one before. So their checks may run
    beside each other, each on exactly the commit that the branch will stand at, and they land in that
    order, each by compare-and-swap from the one before.
    """

    def __init__(  # noqa: PLR0913 - each by name
        self,
        git: Git,
        verifiers: Sequence[Verifier],
        *,
        branch: str,
        base: str,
        timeout_seconds: float,
        guard: Guard | None = None,
        trusted: Collection[str] = (),
    ) -> None:
        """A missing branch is made at `base`. It is moved only while the guard holds; else GitError.

        Work that changes one of the `trusted` files, or another that decides, waits for a person.
        """
        self._guard = guard
        self._trusted = trusted
        self._git = git
        self._verifiers = verifiers
        self._branch = branch
        self._base = base
        self._timeout_seconds = timeout_seconds

    @property
    def is_confined(self) -> bool:
        """True where checks run in a sandbox."""
        return all(verifier.is_confined for verifier in self._verifiers)

    def merge(self, work: Work) -> MergeOutcome:
        """The work is on the branch, or the outcome says why not. Safe to repeat after a crash at any point.

        Raises BranchKeepsMoving, UnknownCommit, TreeMoved, ChecksInterrupted, GitError.
        """
        for _ in range(ATTEMPTS):
            (place,) = self.line_up([work])
            outcome = place.outcome if isinstance(place, Settled) else self.land(place, self.verify(place))
            if outcome is not None:
                return outcome
        raise BranchKeepsMoving(branch=self._branch)

    def line_up(self, works: Iterable[Work]) -> list[Candidate | Settled]:
        """The first of the works, in their order: as many candidates as there are verifiers.

        What can only be judged once a candidate before it has landed ends the line. Raises for the first
        of the works; a later one that fails ends the line too.
        """
        line: list[Candidate | Settled] = []
        tip = last = self._tip()
        free = list(self._verifiers)
        for work in works:
            if not free:
                break
            try:
                place = self._place(work, tip, last, free[0])
            except TeamError:
                if line:
                    break
                raise
            if place is None:
                break
            line.append(place)
            if isinstance(place, Candidate):
                free.pop(0)
                last = place.merged
        return line

    def verify(self, candidate: Candidate) -> tuple[CheckResult, ...]:
        """The results of its checks; candidates of one line may be verified beside each other.

        Raises ChecksInterrupted, TreeMoved, GitError.
        """
        work = candidate.work
        return candidate.verifier.verify(candidate.merged, work.checks, self._timeout_seconds, task=work.task)

    def land(self, candidate: Candidate, results: tuple[CheckResult, ...]) -> MergeOutcome | None:
        """The branch stands at the candidate, or the outcome says why not.

        None when the branch is not where the candidate begins: the line behind it is worth nothing then.
        """
        if not passed(results):
            return ChecksRed(results=results)
        if held := self._held(candidate.merged):  # the checks took their time
            return held
        if not self._git.move_branch(self._branch, candidate.merged, candidate.onto, self._guard):
            return None
        files = self._changed(candidate.onto, candidate.merged)
        return Merged(commit=candidate.merged, files=files, results=results)

    def _tip(self) -> str:
        tip = self._git.tip(self._branch)
        if tip is None:
            base = self._git.commit_of(self._base)
            self._git.move_branch(self._branch, base, None, self._guard)  # a lost race made it as well
            tip = self._git.commit_of(f"refs/heads/{self._branch}")
        return tip

    def _place(self, work: Work, tip: str, last: str, verifier: Verifier) -> Candidate | Settled | None:
        """None when the work depends on what becomes of a candidate before it."""
        commit = self._git.commit_of(work.commit)
        if self._git.is_ancestor(commit, tip):
            return Settled(work=work, outcome=AlreadyThere(commit=self._brought_in_by(commit, tip)))
        if last != tip and self._git.is_ancestor(commit, last):
            return None
        outcome = self._held(commit) or self._attempt(work, commit, last, verifier)
        if isinstance(outcome, str):
            return Candidate(work=work, onto=last, merged=outcome, verifier=verifier)
        return Settled(work=work, outcome=outcome) if last == tip else None

    def _attempt(
        self, work: Work, commit: str, onto: str, verifier: Verifier
    ) -> str | Conflict | Unproven | Held:
        merged = combine(verifier.check_out(onto), onto, commit, work.message)
        if isinstance(merged, Clash):
            return self._conflict(merged, onto, commit)
        if faults := unproven(self._git, onto, commit, merged):
            return Unproven(faults=faults)
        files = [] if work.is_reviewed else deciding(self._changed(onto, merged), self._trusted)
        return Held(why=_for_a_person(files, commit, work.task)) if files else merged

    def _held(self, commit: str) -> Held | None:
        if where := self._git.checked_out_at(self._branch):
            why = f"branch {self._branch} is checked out in {where}; switch to another branch there"
            return Held(why=why)
        if self._git.holds("merge-base", commit, self._branch):
            return None
        return Held(why=f"commit {commit:.10} has no commit in common with {self._branch}; merge it by hand")

    def _brought_in_by(self, commit: str, tip: str) -> str:
        """The commit on the branch's own line that holds `commit` first."""
        later = self._git.run(
            "rev-list", "--first-parent", "--ancestry-path", "--reverse", f"{commit}..{tip}", "--"
        )
        return later.split("\n", 1)[0] or tip

    def _changed(self, before: str, after: str) -> tuple[str, ...]:
        listing = self._git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
        return tuple(scrub(name) for name in listing.split("\0") if name)

    def _conflict(self, clash: Clash, tip: str, commit: str) -> Conflict:
        return Conflict(
            files=tuple(scrub(name) for name in clash.files),
            kinds=clash.kinds,
            ours=tip,
            theirs=commit,
            ours_says=self._touched(clash.files, commit, tip),
            theirs_says=self._touched(clash.files, tip, commit),
        )

    def _touched(self, files: tuple[str, ...], without: str, of: str) -> tuple[str, ...]:
        listing = self._git.run(
            "log",
            "--no-merges",
            "--full-history",  # else a merge hides the side that deleted a file
            "--max-count=5",
            "--format=%h %an: %s",
            f"{without}..{of}",
            "--",
            *files[:100],
        )
        return tuple(scrub(line) for line in listing.splitlines())


def _for_a_person(files: Sequence[str], commit: str, task: str) -> str:
    return (
        f"it changes {', '.join(files)}, which decides what runs or is allowed on your machine or in CI; "
        f"look with `git show {commit:.10}`, then `leadhand merge {task}`"
    )
