"""The plan gate of the present task: where it stands, and how a plan gets before its reviewer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import StateUnwritable
from coordination.json_form import scrub
from coordination.protocols import Kind, plan_state
from coordination.records import Plan, PlanState, Verdict
from harness.plan_scope import scope_of, with_scope
from harness.tool import ToolFailure

if TYPE_CHECKING:
    from coordination.records import Decision, Task
    from coordination.requests import RequestState
    from coordination.stores import Stores
    from harness.off_loop import OffLoop
    from harness.plan_scope import Scope
    from workspace.desk import Desk


class PlanOfTask:
    """Satisfies the `Planner` that the tool needs."""

    def __init__(self, stores: Stores, desk: Desk, off_loop: OffLoop) -> None:
        self._stores = stores
        self._desk = desk
        self._off_loop = off_loop
        self._untold: tuple[str, int | None] | None = None  # task and token of the last plan

    @property
    def is_untold(self) -> bool:
        """A plan was submitted for the present task, and its author does not know the decision yet."""
        task = self._desk.task
        return task is not None and self._untold == (task.id, task.token)

    def told(self) -> None:
        """Its author is told what became of the plan."""
        self._untold = None

    async def state(self) -> PlanState:
        """Where the plan gate stands now, read from disk."""
        return await self._off_loop(self._state)

    def _state(self) -> PlanState:
        if self._desk.task is None:
            return PlanState.NOT_REQUIRED
        task = self._stores.tasks.get(self._desk.task.id)
        member = self._stores.roster.member(self._desk.claimant.name)
        required = task.plan_required or bool(member and member.plan_required)
        asked = self._asked(task)
        present = asked is None or self._stores.roster.is_present(asked.question.asker)
        return plan_state(required, task.plan, asked, asker_present=present)

    def _asked(self, task: Task) -> RequestState | None:
        return self._stores.requests.get(task.plan.request) if task.plan else None

    async def decision(self) -> Decision | None:
        """The answer to the present plan, if there is one."""
        task = self._desk.task
        fresh = await self._off_loop(self._stores.tasks.get, task.id) if task else None
        asked = await self._off_loop(self._asked, fresh) if fresh else None
        return asked.answer if asked else None

    async def scope(self) -> Scope | None:
        """What the approved plan keeps to; None without such a plan, or when it names no scope."""
        task = self._desk.task
        asked = await self._off_loop(self._asked_about, task.id) if task else None
        is_approved = asked and asked.answer and asked.answer.verdict is Verdict.APPROVE
        return scope_of(asked.question.question) if asked and is_approved else None

    def _asked_about(self, task: str) -> RequestState | None:
        return self._asked(self._stores.tasks.get(task))

    async def take_up(self) -> bool:
        """A plan that a dead process of this name left undecided is before its reviewer; False without one.

        A question ends with the process that asked it, so that it is asked again, in the same words.
        """
        return await self._off_loop(self._ask_again)

    def _ask_again(self) -> bool:
        held = self._desk.task
        task = self._stores.tasks.get(held.id) if held else None
        asked = self._asked(task) if task else None
        if task is None or asked is None:
            return False
        if asked.answer is None and not self._stores.roster.is_present(asked.question.asker):
            self._put_before_reviewer(task, asked.question.question)
        return True

    async def submit_plan(self, plan: str, scope: dict[str, Any] | None = None) -> str:
        """The plan is on disk and before its reviewer, who has been told."""
        state = await self.state()
        if state is PlanState.PENDING:
            raise ToolFailure(
                code="plan_pending", detail="a plan of yours is already waiting; wait for its decision"
            )
        if self._desk.task is None:
            raise ToolFailure(code="no_task", detail="you hold no task to plan for")
        task = self._desk.task
        request = await self._off_loop(self._put_before_reviewer, task, with_scope(plan, scope))
        self._untold = (task.id, task.token)
        return f"submitted as {request}; you go on when it is decided"

    def _put_before_reviewer(self, task: Task, text: str) -> str:
        stores, token = self._stores, task.token or 0
        reviewer = stores.runs.get(task.run or "").plan_reviewer
        data = scrub(text).encode()
        digest = hashlib.sha256(data).hexdigest()
        number = self._write(task, data)
        question = stores.requests.ask(
            Kind.PLAN,
            task.subject,
            reviewer=reviewer,
            question=text,
            task=task.id,
            token=token,
            plan=number,
            content_digest=digest,
        )
        stores.tasks.submit_plan(task.id, token, Plan(number=number, digest=digest, request=question.id))
        marks = {"request": question.id, "task": task.id, "plan": str(number)}
        stores.events.record("plan_submitted", subject=task.subject, reviewer=reviewer, **marks)
        if reviewer == "lead":
            stores.outbox.send("lead", text, type="plan_request", metadata=marks)
        return question.id

    def _write(self, task: Task, data: bytes) -> int:
        """The plan has a file of its own; its number, which no plan of this token had before."""
        directory, token = self._stores.team.directory, task.token or 0
        before = self._stores.tasks.get(task.id).plan
        number = before.number + 1 if before else 1
        while directory.exists(layout.plan(task.id, token, number)):  # one that is void by now
            number += 1
        path = layout.plan(task.id, token, number)
        directory.make(path.rpartition("/")[0])
        if error := directory.publish(path, data):
            raise StateUnwritable.of(path, error) from error
        return number
