"""The lead's own hands: it reads the person's checkout, and changes something only under a task."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination.records import Status
from coordination.tasks.rules import InvalidTransition, StaleToken
from harness.tool import Effect, ToolFailure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coordination.stores import Stores
    from harness.models.metered_model import MeteredModel
    from harness.off_loop import OffLoop
    from workspace.desk import Desk

READ_ONLY = (
    "read_only",
    "this is the person's checkout, read it only; claim a task to get a worktree, or leave it to a teammate",
)


class LeadWork:
    """Satisfies the `Work` that the board's tools need."""

    def __init__(
        self, stores: Stores, desk: Desk, *, off_loop: OffLoop, meter: MeteredModel, run: str
    ) -> None:
        self._stores = stores
        self._desk = desk
        self._off_loop = off_loop
        self._meter = meter
        self._run = run

    @property
    def cwd(self) -> Path:
        """The tree of the lead's task, or else the person's checkout."""
        return self._desk.tree if self._desk.task else self._stores.team.repository

    @property
    def variables(self) -> Mapping[str, str]:
        """What commands find in their environment in the tree of the lead's task."""
        return self._desk.variables

    @property
    def task(self) -> str | None:
        """The id of the task that the lead works on."""
        return self._desk.task.id if self._desk.task else None

    async def gate(self, effect: Effect) -> tuple[str, str] | None:
        """The lease gate of a lead: reads anywhere, changes only in the tree of its task."""
        if self._desk.task is None:
            return READ_ONLY if effect is Effect.CHANGE else None
        problem = await self._off_loop(self._desk.problem)
        return (problem.reason, str(problem)) if problem else None

    async def claim(self, task_id: str) -> str:
        """The task is the lead's; refused while a teammate holds one, since the lead then has to lead."""
        task = await self._off_loop(self._claim, task_id)
        return f"claimed {task_id}; work directory: {task}"

    def _claim(self, task_id: str) -> Path:
        self._desk.check_free()
        tasks = self._stores.tasks
        busy = [task.owner for task in tasks.all(self._run) if task.status is Status.IN_PROGRESS]
        if busy:
            raise ToolFailure(
                code="teammates_work",
                detail=f"{', '.join(map(str, busy))} hold tasks; lead until they are done",
            )
        if tasks.get(task_id).plan_required:
            raise ToolFailure(
                code="plan_required", detail="the task needs a reviewed plan; leave it to a teammate"
            )
        if tasks.get(task_id).status is Status.HELD:  # the lead has made it for itself
            tasks.publish([task_id])
        task = tasks.claim(task_id, self._desk.claimant)
        self._desk.sit_down(task, self._stores.runs.get(self._run))
        return self._desk.tree

    async def complete(self, summary: str) -> str:
        """The task is completed, proven by its checks."""
        done = await self._off_loop(self._desk.complete, summary, self._meter.total)
        if done.refused:
            raise ToolFailure(code="checks_failed", detail=str(done))
        self._stores.events.record("completed", task=done.task.id, subject=done.task.subject)
        return str(done)

    async def end_turn(self) -> None:
        """A finished task keeps its tree to the end of the turn; one not handed in is on the board again."""
        task = self._desk.task
        if task and task.status is Status.IN_PROGRESS:
            with suppress(StaleToken, InvalidTransition):  # it was taken back before
                await self._off_loop(self._desk.give_back, "the lead ended its turn without handing it in")
        self._desk.leave()
