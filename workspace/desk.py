"""The one task that a member holds, with the tree it works in: take, commit, prove, hand in, put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from coordination.errors import TeamError
from coordination.records import CheckResult, Status, Task, TaskResult
from workspace.checks import passed
from workspace.submodules import SubmoduleEmpty
from workspace.tree_of_task import TreeOfTask, is_bound
from workspace.worktrees import NestedRepository

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coordination.records import Run
    from coordination.tasks.refusals import Claimant
    from coordination.tasks.store import TaskStore
    from coordination.team_root import Team
    from coordination.usage import Usage
    from workspace.checks import Verifier
    from workspace.setup.tree_setup import TreeSetup
    from workspace.worktrees import Worktrees


OUTPUT_LINES = 30  # of a failed check, shown to the model; more is in the task's record


@dataclass(eq=False)
class NoTask(TeamError):
    """The member holds no task, so there is no directory for it to work in."""

    says = "you hold no task; claim one first (list_tasks shows what is ready)"


@dataclass(eq=False)
class LeaseBroken(TeamError):
    """The task or its tree is no longer the member's."""

    task: str
    why: str
    says = "Invalid task assignment {task}: {why}; stop working on it"


@dataclass(eq=False)
class TurnNotOver(TeamError):
    """A finished task keeps its tree to the end of the turn, so no other can be claimed before."""

    task: str
    status: Status
    says = (
        "{task} is {status} and keeps its worktree to the end of this turn; end it before you claim another"
    )


@dataclass(eq=False)
class UnknownCheck(TeamError):
    """A task asks for a check that nobody defined, so nothing can prove it."""

    task: str
    check: str
    says = (
        "{task} asks for the check {check!r}, which no configuration defines; only the person can mend that"
    )


@dataclass(frozen=True, kw_only=True)
class Proof:
    """How completions are proven."""

    checks: Mapping[str, str]  # name to command: what the configuration defines and the person wrote
    every_task: tuple[str, ...] = ()  # names that run for each task
    timeout_seconds: float = 600.0  # of one check


@dataclass(frozen=True, kw_only=True)
class HandedIn:
    """What became of a completion."""

    task: Task
    refused: tuple[CheckResult, ...] = ()  # the checks that failed; empty: completed
    sandboxed: bool | None = None  # where its checks ran; None: none did
    now_ready: tuple[Task, ...] = ()

    def __str__(self) -> str:
        """The outcome as the model is told."""
        if self.refused:
            return _refusal(self.task, self.refused)
        ready = "".join(f"\nnow ready: {task.id} {task.subject}" for task in self.now_ready)
        return f"completed {self.task.id} ({self.task.subject}){ready}"


def checks_of(task: Task, proof: Proof) -> dict[str, str]:
    """The commands that prove this task, by name, those of every task first. Raises UnknownCheck."""
    names = dict.fromkeys((*proof.every_task, *task.checks))
    for name in names:
        if name not in proof.checks:
            raise UnknownCheck(task=task.id, check=name)
    return {name: proof.checks[name] for name in names}


def _refusal(task: Task, refused: tuple[CheckResult, ...]) -> str:
    left = task.max_attempts - task.refusals
    parts = [f"not completed: on a clean checkout of your commit these checks fail ({left} more tries)"]
    for check in refused:
        code = "did not end in time" if check.exit_code is None else f"exit code {check.exit_code}"
        tail = "\n".join(check.output.splitlines()[-OUTPUT_LINES:])
        parts.append(f"{check.name} ({code}): {check.command}\n{tail}")
    return "\n\n".join(parts)


def kept_branch(task: Task) -> str:
    """The branch that keeps the work done under the present token, whatever becomes of it."""
    return f"leadhand/{task.id}/{task.token}"


class Desk:
    """A member's place of work. Every method blocks, and an object belongs to one thread at a time."""

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        team: Team,
        store: TaskStore,
        trees: Worktrees,
        verifier: Verifier,
        *,
        claimant: Claimant,
        proof: Proof,
        setup: TreeSetup | None = None,
    ) -> None:
        """Without `setup` a tree is worked in as it is checked out."""
        self.claimant = claimant
        self.task: Task | None = None
        self.variables: Mapping[str, str] = {}  # for commands that run in the tree
        self._setup = setup
        self._team = team
        self._store = store
        self._trees = trees
        self._tree_of = TreeOfTask(team, store, trees)
        self._verifier = verifier
        self._proof = proof

    def sit_down(self, task: Task, run: Run) -> Task:
        """The claimed task has a fresh tree bound to it, and the member works there from now on.

        The tree starts from the newest state of the run, with the work of blockers that is not
        merged yet and what a former holder had committed; the project runs in it. When it cannot be
        made, the task is released, which is no attempt, or has failed where that would go on for ever;
        the error goes on.
        """
        token = task.token or 0
        try:
            path = self._tree_of.make(task, run)
            start = self._trees.head(path)
            self._make_ready(path, task)
            self._trees.finish(path)
        except TeamError as error:
            self._tree_of.give_up(task, error)
            raise
        self.task = self._store.bind(task.id, token, worktree=self._trees.recorded(path), base=start)
        return self.task

    def _make_ready(self, path: Path, task: Task) -> None:
        if self._setup:
            checks = checks_of(task, self._proof)
            self._setup.prepare(self._trees.git_at(path), task=task.id, checks=checks)
            self.variables = self._setup.variables(path, task.id)

    def check_free(self) -> None:
        """A further task may be claimed. Raises TurnNotOver."""
        if self.task and self.task.status.is_final:
            raise TurnNotOver(task=self.task.id, status=self.task.status)

    def go_on(self, task: Task) -> None:
        """A task that was resumed under a new token is worked on again in the tree it has.

        Where it has none of its own, or a broken one, the member sits nowhere and has to `sit_down`.
        """
        self.task = task
        if not is_bound(self._store, task) or self.problem():
            self.leave()
        elif self._setup:
            self.variables = self._setup.variables(self.tree, task.id)

    def leave(self) -> None:
        """The member works nowhere; a finished task keeps its tree until then."""
        self.task = None
        self.variables = {}

    def problem(self) -> TeamError | None:
        """Why the member may not touch its tree now; None while task and tree are its own."""
        if self.task is None or self.task.worktree is None:
            return NoTask()
        present = self._store.get(self.task.id)
        if present.token != self.task.token or present.status not in {Status.IN_PROGRESS, Status.COMPLETED}:
            return LeaseBroken(
                task=self.task.id, why=f"it is {present.status}, owned by {present.owner or 'nobody'}"
            )
        why = self._trees.lease_problem(self.tree, self.task.base or "")
        return LeaseBroken(task=self.task.id, why=why) if why else None

    @property
    def tree(self) -> Path:
        """The directory of the present task. Raises NoTask."""
        return self._tree(self._held())

    def _tree(self, task: Task) -> Path:
        if task.worktree is None:  # without this the root itself, the person's checkout, would be meant
            raise NoTask
        return self._team.root / task.worktree

    def _commit(self, task: Task) -> str:
        """All that the tree holds is in a commit, kept under a branch of its own; its id."""
        path = self._tree(task)
        commit = self._trees.snapshot(path, message=task.subject, member=self.claimant.name, task=task.id)
        self._trees.keep(kept_branch(task), commit)
        return commit

    def complete(self, text: str, usage: Usage, *, untrusted: str = "") -> HandedIn:
        """The task is completed if its checks pass on a clean checkout; else the refusal is on record.

        `untrusted` is what the member had read that was written elsewhere.

        A task without checks completes as unverified. Raises NoTask, LeaseBroken, and StaleToken when
        the task was taken away meanwhile; the commit then stays under its branch.
        """
        if problem := self.problem():
            raise problem
        task = self._held()
        commit = self._commit(task)
        checks = self._verifier.verify(
            commit, checks_of(task, self._proof), self._proof.timeout_seconds, task=task.id
        )
        red = tuple(check for check in checks if check.exit_code != 0)
        result = structs.replace(self._result(commit, text, usage, checks), untrusted=untrusted)
        inside = self._verifier.is_confined if checks else None
        if red:
            self.task = self._store.refuse(task.id, task.token or 0, result)
            return HandedIn(task=self.task, refused=red, sandboxed=inside)
        self.task, now_ready = self._store.complete(
            task.id, task.token or 0, commit=commit, branch=kept_branch(task), result=result
        )
        return HandedIn(task=self.task, now_ready=tuple(now_ready), sandboxed=inside)

    def not_handed_in(self, usage: Usage) -> HandedIn:
        """The member ended its turn without handing in: on record like a refusal by the checks."""
        task, text = self._held(), "the turn ended without complete_task"
        try:
            commit = self._commit(task)
        except (NestedRepository, SubmoduleEmpty) as error:
            commit, text = task.base or "", f"{text}, and its work could not be kept: {error}"
        result = self._result(commit, text, usage, ())
        self.task = self._store.refuse(task.id, task.token or 0, result)
        return HandedIn(task=self.task)

    def _result(self, commit: str, text: str, usage: Usage, checks: tuple[CheckResult, ...]) -> TaskResult:
        return TaskResult(
            text=text,
            diff=self._trees.diff_stat(self._held().base or commit, commit),
            checks=checks,
            verified=bool(checks) and passed(checks),
            usage=usage,
        )

    def give_back(self, why: str) -> None:
        """The task is pending again with its work kept in a commit; giving back is no attempt."""
        task = self.task
        if task is None:
            return
        self.task = None
        try:
            commit = self._commit(task) if task.worktree else None
        except TeamError as error:  # the tree is gone: that must not keep the task
            commit, why = None, f"{why}; nothing could be kept: {error}"
        branch = kept_branch(task) if commit else None
        self._store.release(task.id, task.token or 0, why, commit=commit, branch=branch)

    def _held(self) -> Task:
        if self.task is None:
            raise NoTask
        return self.task
