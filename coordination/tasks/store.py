"""The tasks of the team: create, claim, complete, release, reclaim, edges."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.identity import new_id
from coordination.locks import CourtesyLock
from coordination.records import Plan, Status, Task, TaskResult
from coordination.tasks import rules
from coordination.tasks.board import TaskBoard
from coordination.tasks.drafts import TaskDraft, edited, edited_by_hand, resolve
from coordination.tasks.edges import TaskEdges
from coordination.tasks.graph import IdTaken
from coordination.tasks.refusals import (
    AlreadyOwned,
    Claimant,
    ClaimRefused,
    HoldsAnother,
    Names,
    NotOwner,
    NotReady,
    ReservedFor,
    TaskUnreadable,
    UnknownTask,
    WrongRole,
    refuse_claim,
)
from coordination.tasks.views import TaskViews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from coordination.tasks.graph import TaskGraph
    from coordination.team_root import Team


class TaskStore:
    """What one process sees and does on the board; an object belongs to one thread.

    Every method that changes a task raises UnknownTask, TaskUnreadable, StateUnreadable,
    StateUnwritable, NewerFormat, and InvalidTransition where the table has no such step. Methods that
    take a token raise StaleToken when the lease is no longer the present one.
    """

    def __init__(
        self,
        team: Team,
        actor: str,
        term: Callable[[], int] = lambda: 0,
        *,
        draw_id: Callable[[str], str] = new_id,
        lock: CourtesyLock | None = None,
    ) -> None:
        self._board = TaskBoard(team, actor, term)
        self._edges = TaskEdges(self._board)
        self._views = TaskViews(team, self._board.logs, self._adopt)
        self._lock = lock or CourtesyLock(
            team.root / layout.TASKS_LOCK, team.clock, is_of_use=lambda: team.mount.guarantees.lock
        )
        self._draw_id = draw_id

    @property
    def graph(self) -> TaskGraph:
        """What exists for the team."""
        return self._board.graph

    def begin_term(self) -> None:
        """No run, task or edge of an earlier term comes into being from here on: a new lead's first act."""
        self._board.graph.begin_term()

    @property
    def problems(self) -> dict[str, str]:
        """What was passed over since the start, by task."""
        return self._board.logs.problems

    def get(self, task_id: str) -> Task:
        """The newest version."""
        return self._board.get(task_id)

    def all(self, run: str | None = None) -> list[Task]:
        """Every task (of the run) that can be read, in order of creation; the others are in `problems`."""
        return [task for task in self._board.all() if run is None or task.run == run]

    def history(self, task_id: str) -> list[tuple[int, Task]]:
        """Every version with its number."""
        self._board.known(task_id)
        return self._board.logs.history(task_id)

    def blockers(self, task_id: str) -> tuple[str, ...]:
        """What the task waits for: needs that are not completed, or cannot be read."""
        return self._board.blockers(self.get(task_id))

    def dependents(self, task_id: str) -> tuple[str, ...]:
        """The tasks that need this one directly."""
        return tuple(self._board.known(task_id).dependents.get(task_id, ()))

    def is_held(self, task_id: str, token: int) -> bool:
        """True while the token is the present one; one failing look where nothing is new."""
        return self.get(task_id).token == token

    def own_unfinished(self, name: str) -> Task | None:
        """The task that the member holds; costs the same on any board."""
        return self._board.held_by(name)

    def create(self, drafts: Sequence[TaskDraft]) -> list[Task]:
        """The tasks exist and are held. Nothing exists when one of the drafts is refused.

        Raises BlankSubject, UnknownTask, SelfEdge, Cycle, FieldInvalid.
        """
        while True:
            with suppress(IdTaken):
                return self._create(drafts, [self._free_id() for _ in drafts])

    def publish(self, task_ids: Iterable[str]) -> list[Task]:
        """The tasks may be claimed once they are ready; those that are not held stay as they are."""
        tasks = [self.get(task_id) for task_id in task_ids]
        return [self._step(task.id, rules.publish) if task.status is Status.HELD else task for task in tasks]

    def add_edges(self, task_id: str, needs: Iterable[str]) -> Task:
        """The task needs these too; when one of them is refused at sight, nothing is written.

        Raises SelfEdge, Cycle (a race lost to an opposite edge, too), NotUnclaimed.
        """
        return self._edges.add(task_id, needs)

    def edit(self, task_id: str, **fields: object) -> Task:
        """The fields have these values. Raises FieldInvalid and NotUnclaimed."""
        return self._step(task_id, lambda task: edited(task, fields))

    def require_plan(self, task_id: str) -> Task:
        """Work on the task waits for an approved plan; an earlier plan counts no longer."""
        return self._step(task_id, rules.require_plan)

    def cancel(self, task_id: str, why: str) -> Task:
        """Nobody will work on the task; a holder's token is worth nothing any more."""
        return self._step(task_id, lambda task: rules.cancel(task, why))

    def claim(self, task_id: str, claimant: Claimant) -> Task:
        """The task is leased to the claimant under `task.token`. Raises a ClaimRefused that says why not."""
        self._refuse_claim(self.get(task_id), claimant)
        self._refuse_second(task_id, claimant)
        return self._claim(task_id, claimant)

    def claim_next(self, claimant: Claimant) -> Task | None:
        """The best task that the claimant may have is leased to it; None when there is none.

        Raises HoldsAnother.
        """
        self._refuse_second("another one", claimant)
        for task_id in self._board.hints.take(claimant.name, claimant.role):
            try:
                return self._claim(task_id, claimant)
            except (ReservedFor, WrongRole):  # an old hint; the task is ready, for others
                self._board.hint(self.get(task_id))
            except (ClaimRefused, UnknownTask):
                continue
            except TaskUnreadable as error:
                self.problems[task_id] = str(error)
        return None

    def resume(self, task_id: str, claimant: Claimant, *, died: bool = False) -> Task:
        """The owner's next incarnation goes on under a new token; the plan stays.

        `died` counts an attempt for a predecessor that did not stop on purpose; after the last attempt
        what comes back is a failed task. Raises NotOwner.
        """

        def step(task: Task, number: int) -> Task:
            if task.owner != claimant.name:
                raise NotOwner(task=task_id, owner=task.owner)
            return rules.resume(task, holder=claimant.bearer, number=number, died=died)

        task = self.get(task_id)
        if task.status is Status.IN_PROGRESS and task.lease and task.lease.holder == claimant.bearer:
            return task
        self._board.holdings.add(claimant.name, task_id)
        return self._board.change(task_id, step)

    def bind(self, task_id: str, token: int, *, worktree: str, base: str) -> Task:
        """The work is done in this worktree (relative path), which started from the commit `base`."""
        return self._step(task_id, lambda task: rules.bind(task, token, worktree=worktree, base=base))

    def prepare(self, task_id: str, worktree: str) -> Task:
        """The next holder works in this tree (relative path), which was made beforehand."""
        return self._step(task_id, lambda task: rules.prepare(task, worktree))

    def submit_plan(self, task_id: str, token: int, plan: Plan) -> Task:
        """The plan is the present one."""
        return self._step(task_id, lambda task: rules.submit_plan(task, token, plan))

    def release(
        self, task_id: str, token: int, why: str, *, commit: str | None = None, branch: str | None = None
    ) -> Task:
        """Pending again, no attempt counted; `commit` and `branch` say where the work so far lies."""
        return self._step(task_id, lambda task: rules.release(task, token, why, commit=commit, branch=branch))

    def reclaim(self, task_id: str, token: int, why: str) -> Task:
        """Pending again with one attempt more, or failed after the last."""
        return self._step(task_id, lambda task: rules.reclaim(task, token, why))

    def complete(
        self, task_id: str, token: int, *, commit: str | None, branch: str | None, result: TaskResult
    ) -> tuple[Task, list[Task]]:
        """The task is completed; the second part are the dependents that became ready by it."""

        def step(task: Task) -> Task:
            if task.lease is None and (waits_for := self._board.blockers(task)):
                raise NotReady(task=task_id, blockers=Names(waits_for))
            return rules.complete(task, token, commit=commit, branch=branch, result=result)

        completed = self._step(task_id, step)
        waiting = filter(None, map(self._board.readable, self.dependents(task_id)))
        return completed, [task for task in waiting if self._board.hint(task)]

    def refuse(self, task_id: str, token: int, result: TaskResult) -> Task:
        """The checks refused the completion: in progress still, or failed after the last try."""
        return self._step(task_id, lambda task: rules.refuse(task, token, result))

    def fail(self, task_id: str, token: int, result: TaskResult, why: str) -> Task:
        """The task has failed."""
        return self._step(task_id, lambda task: rules.fail(task, token, result, why))

    def record_merge(self, task_id: str, commit: str) -> Task:
        """The work is on the run's branch by this commit."""
        return self._step(task_id, lambda task: rules.merge(task, commit))

    def refresh_views(self) -> None:
        """The readable copies of the tasks seen to change are current; edits by hand were adopted."""
        touched = sorted(self._board.logs.touched)
        self._board.logs.touched.clear()
        with self._lock.held():
            self._views.refresh(touched)

    def repair(self, *, everything: bool = False) -> None:
        """Pending edges have their verdict, edits by hand are adopted, hints are what the tasks say.

        Finished tasks are left out unless `everything` is asked for.
        """
        with self._lock.held():
            tasks = [task for task in self._board.all() if everything or not task.status.is_final]
            for task in tasks:
                if task.edges_pending:
                    self._edges.settle(task.id)
            self._views.refresh(task.id for task in tasks)
            self._board.rebuild()

    def _create(self, drafts: Sequence[TaskDraft], ids: Sequence[str]) -> list[Task]:
        tasks = resolve(drafts, ids, self._board.graph.state.tasks)
        for task in tasks:
            self._board.logs.create(task)
        if tasks:
            self._board.graph.add({task.id: task.blocked_by for task in tasks})
        return [self.get(task.id) for task in tasks]

    def _step(self, task_id: str, step: Callable[[Task], Task]) -> Task:
        return self._board.change(task_id, lambda task, _: step(task))

    def _free_id(self) -> str:
        while (task_id := self._draw_id("task")) in self._board.graph.state.tasks:
            pass
        return task_id

    def _claim(self, task_id: str, claimant: Claimant) -> Task:
        def step(task: Task, number: int) -> Task:
            self._refuse_claim(task, claimant)
            return rules.claim(task, owner=claimant.name, holder=claimant.bearer, number=number)

        self._board.holdings.add(claimant.name, task_id)
        try:
            return self._board.change(task_id, step)
        except ClaimRefused as refusal:
            if not isinstance(refusal, AlreadyOwned) or refusal.owner != claimant.name:
                self._board.holdings.remove(claimant.name, task_id)
            raise

    def _refuse_claim(self, task: Task, claimant: Claimant) -> None:
        refuse_claim(task, claimant, lambda: self._board.blockers(task))

    def _refuse_second(self, task_id: str, claimant: Claimant) -> None:
        if held := self.own_unfinished(claimant.name):
            raise HoldsAnother(task=task_id, held=held.id)

    def _adopt(self, task_id: str, number: int, changes: dict[str, Any]) -> None:
        self._board.change(
            task_id, lambda task, n: edited_by_hand(task, changes, newest=n == number + 1), by="person"
        )
