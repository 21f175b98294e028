"""The lead's side of the merge queue: completed work goes to the run's branch, or back to a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import anyio
import anyio.to_thread

from coordination.errors import TeamError
from orchestrator.lead.standing import mergeable
from orchestrator.merging.outcomes import action_of, refusal, where_checked, work_of
from orchestrator.merging.sending_back import send_back
from orchestrator.merging.siblings import tell_siblings
from workspace.merge_queue import (
    ATTEMPTS,
    AlreadyThere,
    BranchKeepsMoving,
    Candidate,
    ChecksRed,
    Conflict,
    Held,
    Merged,
    Settled,
    Unproven,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.records import CheckResult, Run, Task
    from coordination.stores import Stores
    from harness.off_loop import OffLoop
    from workspace.desk import Proof
    from workspace.git import Git
    from workspace.merge_queue import MergeOutcome, MergeQueue, Work


LONGEST_PAUSE = 16  # times the first pause before what is held up is tried again


@dataclass(eq=False)
class Waiting:
    """A task in the line, and what its checks said once `checked` is set."""

    task: Task
    place: Candidate | Settled
    checked: anyio.Event = field(default_factory=anyio.Event)
    results: tuple[CheckResult, ...] = ()
    error: TeamError | None = None

    async def verify(self, queue: MergeQueue) -> None:
        """The checks ran, in a thread of their own; what went wrong is in `error`."""
        try:
            if not isinstance(self.place, Settled):
                self.results = await anyio.to_thread.run_sync(queue.verify, self.place)
        except TeamError as error:
            self.error = error
        self.checked.set()


class Integration:
    """Brings the commits of completed, verified tasks back, in the order they have.

    All methods but `bring_back` belong to one thread.
    """

    def __init__(
        self, stores: Stores, queue: MergeQueue, git: Git, *, run: Run, proof: Proof, retry_seconds: float
    ) -> None:
        self.held_up: dict[str, str] = {}  # task to reason, until a person acts
        self.line_is_void = False  # checks that still run for it are not waited for
        self._stores = stores
        self._clock = stores.team.clock
        self._retry_seconds = retry_seconds
        self._next_try = 0.0
        self._pause_seconds = retry_seconds
        self._void_lines = 0  # in a row, because somebody else moved the branch
        self._queue = queue
        self._git = git
        self._run = run
        self._proof = proof

    async def bring_back(self, off_loop: OffLoop) -> bool:
        """The first waiting commits were dealt with; False when none waits, or all wait for a person.

        Their checks run beside each other; they land one after the other. When one does not land, those
        behind it, which were merged onto it, are lined up again. Raises TermOver.
        """
        line = await off_loop(self.line_up)
        self.line_is_void = False
        dealt_with = False
        async with anyio.create_task_group() as group:
            for waiting in line:
                group.start_soon(waiting.verify, self._queue)
            try:
                for waiting in line:
                    await waiting.checked.wait()
                    outcome = await off_loop(self.settle, waiting)
                    dealt_with = dealt_with or not isinstance(outcome, Held | None)
                    if isinstance(waiting.place, Candidate) and not isinstance(outcome, Merged):
                        break
            finally:
                self.line_is_void = True
        return dealt_with

    def line_up(self) -> list[Waiting]:
        """The tasks whose commits can be brought back now, each with its place in the line."""
        tasks = mergeable(self._stores.tasks.all(self._run.id))
        fresh = [task for task in tasks if task.id not in self.held_up]
        if not fresh and tasks and self._clock.monotonic() >= self._next_try:
            self._pause_seconds = min(2 * self._pause_seconds, LONGEST_PAUSE * self._retry_seconds)
            fresh = tasks
        if not fresh:
            return []
        self._stores.check_term()
        return self._places(fresh)

    def _places(self, tasks: Sequence[Task]) -> list[Waiting]:
        works: list[tuple[Task, Work]] = []
        for task in tasks:
            try:
                works.append((task, work_of(task, self._proof)))
            except TeamError as error:
                self._hold(task, str(error))
        while works:
            try:
                places = self._queue.line_up([work for _, work in works])
            except TeamError as error:  # the next one may do better; this one waits for a person
                self._stores.check_term()
                self._hold(works.pop(0)[0], str(error))
            else:
                return [Waiting(task, place) for (task, _), place in zip(works, places, strict=False)]
        return []

    def settle(self, waiting: Waiting) -> MergeOutcome | None:
        """What became of the commit is on record: merged, sent back, or held until a person acts.

        None when somebody else moved the branch, so that the line is void. Raises TermOver.
        """
        self._stores.check_term()
        try:
            outcome = self._outcome(waiting)
        except TeamError as error:
            self._stores.check_term()
            outcome = Held(why=str(error))
        task, checked = waiting.task, where_checked(outcome, sandboxed=self._queue.is_confined)
        match outcome:
            case Merged(commit=commit, files=files):
                self._record_merge(task, outcome, **checked)
                tell_siblings(self._stores, self._git, task, self._run, commit=commit, files=files)
            case AlreadyThere():
                self._record_merge(task, outcome)
            case Conflict() | Unproven() | ChecksRed():
                send_back(self._stores, task, refusal(outcome, self._run.branch), **checked)
            case Held(why=why):
                self._hold(task, why)
            case None:
                return None
            case _:
                assert_never(outcome)
        if not isinstance(outcome, Held):
            self.held_up.pop(task.id, None)
            self._pause_seconds = self._retry_seconds
        return outcome

    def _outcome(self, waiting: Waiting) -> MergeOutcome | None:
        if waiting.error:
            raise waiting.error
        if isinstance(waiting.place, Settled):
            return waiting.place.outcome
        outcome = self._queue.land(waiting.place, waiting.results)
        self._void_lines = 0 if outcome else self._void_lines + 1
        if self._void_lines >= ATTEMPTS:
            raise BranchKeepsMoving(branch=self._run.branch)
        return outcome

    def _record_merge(self, task: Task, outcome: Merged | AlreadyThere, **marks: bool) -> None:
        action, commit = action_of(task, outcome), outcome.commit
        self._stores.tasks.record_merge(task.id, commit)
        self._stores.events.record(action, task=task.id, subject=task.subject, commit=commit, **marks)

    def _hold(self, task: Task, why: str) -> None:
        if self.held_up.get(task.id) != why:
            self._pause_seconds = self._retry_seconds
            self.held_up[task.id] = why
            self._stores.events.record("merge_held", task=task.id, subject=task.subject, why=why)
        self._next_try = self._clock.monotonic() + self._pause_seconds
