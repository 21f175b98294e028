"""The lead's side of the merge queue: completed work goes to the run's branch, or back to a worker."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, assert_never

from coordination.errors import TeamError
from coordination.records import Status
from coordination.task_drafts import TaskDraft
from coordination.task_refusals import NotUnclaimed
from orchestrator.standing import mergeable
from workspace.desk import checks_of
from workspace.merge_queue import AlreadyThere, ChecksRed, Conflict, Held, Merged

if TYPE_CHECKING:
    from coordination.records import Run, Task
    from coordination.stores import Stores
    from workspace.desk import Proof
    from workspace.merge_queue import MergeOutcome, MergeQueue


class Integration:
    """Brings the commits of completed, verified tasks back, one at a time."""

    def __init__(
        self, stores: Stores, queue: MergeQueue, *, run: Run, proof: Proof, retry_seconds: float
    ) -> None:
        self.held_up: dict[str, str] = {}  # task to reason, until a person acts
        self._clock = stores.team.clock
        self._retry_seconds = retry_seconds
        self._next_try = 0.0
        self._check_term = stores.check_term
        self._store = stores.tasks
        self._record = stores.events.record
        self._queue = queue
        self._run = run
        self._proof = proof

    def step(self) -> bool:
        """One waiting commit was dealt with; False when none waits."""
        waiting = mergeable(self._store.all(self._run.id))
        fresh = [task for task in waiting if task.id not in self.held_up]
        if not fresh and waiting and self._clock.monotonic() >= self._next_try:
            fresh = waiting
        if not fresh:
            return False
        return self._bring_back(fresh[0])

    def _bring_back(self, task: Task) -> bool:
        """False when the commit has to wait for a person. Raises TermOver."""
        self._check_term()
        try:
            outcome = self._merge(task)
        except TeamError as error:  # the next one may do better; this one waits for a person
            self._check_term()
            outcome = Held(why=str(error))
        match outcome:
            case Merged(commit=commit) | AlreadyThere(commit=commit):
                self._store.record_merge(task.id, commit)
                self._record("merged", task=task.id, subject=task.subject, commit=commit)
            case Conflict():
                self._do_again(task, _both_sides(outcome, self._run.branch))
            case ChecksRed(results=results):
                red = ", ".join(result.name for result in results if result.exit_code != 0)
                self._do_again(task, f"merged with {self._run.branch} its checks fail: {red}")
            case Held(why=why):
                self._hold(task, why)
                return False
            case _:
                assert_never(outcome)
        self.held_up.pop(task.id, None)
        return True

    def _hold(self, task: Task, why: str) -> None:
        self._next_try = self._clock.monotonic() + self._retry_seconds
        if self.held_up.get(task.id) != why:
            self.held_up[task.id] = why
            self._record("merge_held", task=task.id, subject=task.subject, why=why)

    def _merge(self, task: Task) -> MergeOutcome:
        assert task.commit is not None
        return self._queue.merge(
            task.commit,
            branch=self._run.branch,
            base=self._run.base,
            message=f"Merge {task.subject}\n\nLeadhand-Task: {task.id}\nLeadhand-Member: {task.owner}",
            checks=checks_of(task, self._proof),
        )

    def _do_again(self, task: Task, why: str) -> None:
        """The work goes back: a new task that names the old one and starts from the newest state."""
        description = (
            f"{task.description}\n\nThis was done before in {task.id} (commit {task.commit}), but could not "
            f"be brought back: {why}. Do it again on the newest state; `git show {task.commit}` shows how."
        )
        draft = TaskDraft(
            subject=task.subject,
            description=description,
            run=task.run,
            priority=max(0, task.priority - 1),
            roles=task.roles,
            checks=task.checks,
            plan_required=task.plan_required,
            redo_of=task.id,
            max_attempts=task.max_attempts,
        )
        (again,) = self._store.create([draft])
        for dependent in self._store.dependents(task.id):
            if self._store.get(dependent).status in {Status.HELD, Status.PENDING}:
                with suppress(NotUnclaimed):  # claimed since we looked: its tree has the commit itself
                    self._store.add_edges(dependent, [again.id])
        self._store.publish([again.id])
        self._record("sent_back", task=task.id, subject=task.subject, why=why, again=again.id)


def _both_sides(conflict: Conflict, branch: str) -> str:
    """Which files, and who did what to them on either side."""
    ours, theirs = "; ".join(conflict.ours_says), "; ".join(conflict.theirs_says)
    return f"it conflicts with {branch} in {', '.join(conflict.files)} (there: {ours}; here: {theirs})"
