"""The lead's side of the merge queue: completed work goes to the run's branch, or back to a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from coordination.records import Status
from coordination.task_drafts import TaskDraft
from orchestrator.standing import mergeable
from workspace.desk import checks_of
from workspace.merge_queue import AlreadyThere, ChecksRed, Conflict, Held, Merged

if TYPE_CHECKING:
    from coordination.records import Run, Task
    from coordination.stores import Stores
    from workspace.desk import Proof
    from workspace.merge_queue import MergeQueue


class Integration:
    """Brings the commits of completed, verified tasks back, one at a time."""

    def __init__(self, stores: Stores, queue: MergeQueue, *, run: Run, proof: Proof) -> None:
        self.held_up: dict[str, str] = {}  # task to reason, until a person acts
        self._store = stores.tasks
        self._record = stores.events.record
        self._queue = queue
        self._run = run
        self._proof = proof

    def step(self) -> bool:
        """One waiting commit was dealt with; False when none waits."""
        waiting = mergeable(self._store.all(self._run.id))
        for task in waiting:
            if task.id not in self.held_up:
                self._bring_back(task)
                return True
        return False

    def try_again(self) -> None:
        """What was held up is tried again at the next step."""
        self.held_up.clear()

    def _bring_back(self, task: Task) -> None:
        assert task.commit is not None
        outcome = self._queue.merge(
            task.commit,
            branch=self._run.branch,
            base=self._run.base,
            message=f"Merge {task.subject}\n\nLeadhand-Task: {task.id}\nLeadhand-Member: {task.owner}",
            checks=checks_of(task, self._proof),
        )
        match outcome:
            case Merged(commit=commit) | AlreadyThere(commit=commit):
                self._store.record_merge(task.id, commit)
                self._record(
                    "merged", task=task.id, subject=task.subject, commit=commit, branch=self._run.branch
                )
            case Conflict(files=files):
                self._do_again(
                    task, f"its changes conflict with the branch {self._run.branch} in {', '.join(files)}"
                )
            case ChecksRed(results=results):
                red = ", ".join(result.name for result in results if result.exit_code != 0)
                self._do_again(task, f"merged with {self._run.branch} its checks fail: {red}")
            case Held(why=why):
                self.held_up[task.id] = why
                self._record("merge_held", task=task.id, subject=task.subject, why=why)
            case _:
                assert_never(outcome)

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
                self._store.add_edges(dependent, [again.id])
        self._store.publish([again.id])
        self._record("sent_back", task=task.id, subject=task.subject, why=why, again=again.id)
