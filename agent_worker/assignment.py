"""What a teammate's host does around its one task: claim, plan, prove, hand in, give back."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from agent_worker.briefing import briefing
from coordination import layout
from coordination.errors import TeamError
from coordination.protocols import Kind, plan_state
from coordination.records import Plan, PlanState, Status
from coordination.task_rules import InvalidTransition, StaleToken
from coordination.usage import Usage
from harness.tool import NoWorkingDirectory, ToolFailure
from workspace.desk import HandedIn, NoTask, checks_of, kept_branch

if TYPE_CHECKING:
    from pathlib import Path

    from agent_worker.lease_keeper import LeaseKeeper
    from coordination.records import Decision, Task
    from coordination.requests import RequestState
    from coordination.stores import Stores
    from harness.metered_model import MeteredModel
    from harness.off_loop import OffLoop
    from harness.pulse import Pulse
    from harness.tool import Effect
    from workspace.desk import Desk, Proof

MERGE_LOOK_SECONDS = 0.1
MERGE_PATIENCE_SECONDS = (
    5.0  # for the work of blockers to arrive on the run's branch; it is merged in otherwise
)
_SETTLED = {PlanState.NOT_REQUIRED, PlanState.APPROVED}


class Assignment:
    """The teammate's present task; satisfies the `Work` and `Planner` that its tools need."""

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        stores: Stores,
        desk: Desk,
        keeper: LeaseKeeper,
        *,
        pulse: Pulse,
        off_loop: OffLoop,
        meter: MeteredModel,
        proof: Proof,
    ) -> None:
        self.asked_lead = False  # the model sent the lead a message since this was last cleared
        self._stores = stores
        self._pulse = pulse
        self._desk = desk
        self._keeper = keeper
        self._off_loop = off_loop
        self._meter = meter
        self._proof = proof

    @property
    def task(self) -> Task | None:
        """The task as it was last seen."""
        return self._desk.task

    def cwd(self) -> Path:
        """The tree of the task. Raises NoWorkingDirectory; there is never another directory instead."""
        try:
            return self._desk.tree
        except NoTask as error:
            raise NoWorkingDirectory(why=str(error)) from error

    # taking

    async def take_next(self) -> Task | None:
        """The best task that is ready is this teammate's, with a tree."""
        task = await self._off_loop(self._stores.tasks.claim_next, self._desk.claimant)
        return await self._sit_down(task) if task else None

    async def claim(self, task_id: str) -> str:
        """The named task is this teammate's; returns its briefing."""
        task = await self._off_loop(self._stores.tasks.claim, task_id, self._desk.claimant)
        return await self.brief(await self._sit_down(task))

    async def brief(self, task: Task) -> str:
        """All that the model is told of the task."""
        required = await self.plan_state() is not PlanState.NOT_REQUIRED
        return briefing(task, self._desk.tree, checks_of(task, self._proof), plan_required=required)

    async def _sit_down(self, task: Task) -> Task:
        self._keeper.holds(task.id, task.token)
        self._stores.events.record("claimed", task=task.id, subject=task.subject, token=task.token)
        self._meter.total = Usage()
        deadline = anyio.current_time() + MERGE_PATIENCE_SECONDS
        while await self._off_loop(self._waits_for_merge, task) and anyio.current_time() < deadline:
            await self._pulse.wait(self._pulse.count, MERGE_LOOK_SECONDS)
        run = await self._off_loop(self._stores.runs.get, task.run or "")
        return await self._off_loop(self._desk.sit_down, task, run)

    def _waits_for_merge(self, task: Task) -> bool:
        blockers = (self._stores.tasks.get(blocker) for blocker in task.blocked_by)
        return any(
            blocker.merged is None for blocker in blockers if blocker.result and blocker.result.verified
        )

    # the gates

    async def gate(self, _: Effect) -> tuple[str, str] | None:
        """The lease gate: whatever touches files needs the tree of a task that is held."""
        return await self.problem()

    async def problem(self) -> tuple[str, str] | None:
        """Why the teammate may not touch its tree: reason code and text."""
        problem = await self._off_loop(self._desk.problem)
        return (problem.reason, str(problem)) if problem else None

    async def plan_state(self) -> PlanState:
        """Where the plan gate stands now, read from disk."""
        return await self._off_loop(self._plan_state)

    def _plan_state(self) -> PlanState:
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

    # planning

    async def submit_plan(self, plan: str) -> str:
        """The plan is on disk and before its reviewer, who has been told."""
        state = await self.plan_state()
        if state is PlanState.PENDING:
            raise ToolFailure(
                code="plan_pending", detail="a plan of yours is already waiting; wait for its decision"
            )
        if self._desk.task is None:
            raise ToolFailure(code="no_task", detail="you hold no task to plan for")
        request = await self._off_loop(self._put_before_reviewer, self._desk.task, plan)
        return f"submitted as {request}; you go on when it is decided"

    def _put_before_reviewer(self, task: Task, text: str) -> str:
        stores, token = self._stores, task.token or 0
        before = stores.tasks.get(task.id).plan
        number = before.number + 1 if before else 1
        reviewer = stores.runs.get(task.run or "").plan_reviewer
        digest = hashlib.sha256(text.encode()).hexdigest()
        path = layout.plan(task.id, token, number)
        stores.team.directory.make(path.rpartition("/")[0])
        stores.team.directory.publish(path, text.encode())
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

    # handing in

    async def complete(self, summary: str) -> str:
        """The task is completed, proven by its checks, and the lead has the result."""
        if await self.plan_state() not in _SETTLED:
            raise ToolFailure(
                code="plan_not_approved", detail="a task cannot be completed before its plan is approved"
            )
        if self.task and self.task.status.is_final:
            raise ToolFailure(
                code="already_final", detail=f"{self.task.id} is {self.task.status} already; end your turn"
            )
        done = await self._proven(summary)
        await self._off_loop(self._tell, done, summary)
        if done.refused:
            raise ToolFailure(code="checks_failed", detail=str(done))
        return str(done)

    async def _proven(self, summary: str) -> HandedIn:
        """Handed in while the lease is kept; what fails is raised as it is, not as a group."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep_lease)
                done = await self._off_loop(self._hand_in, summary)
                group.cancel_scope.cancel()
        except* TeamError as errors:
            raise errors.exceptions[0] from None
        return done

    def _hand_in(self, summary: str) -> HandedIn:
        task = self._desk.task
        try:
            return self._desk.complete(summary, self._meter.total)
        except StaleToken as error:  # too late: the commit is kept for the lead to look at
            if task:
                self._stores.events.record("late_result", task=task.id, subject=task.subject, why=str(error))
                branch = kept_branch(task)
                self._report(task, "late_result", f"{task.subject} was handed in too late; see {branch}")
            raise

    async def _keep_lease(self) -> None:
        """Checks have deadlines of their own, so waiting for them is progress."""
        while True:
            self._keeper.checkpoint()
            await anyio.sleep(5)

    def _tell(self, done: HandedIn, summary: str) -> None:
        task = done.task
        failed = [check.name for check in done.refused]
        verified = bool(task.result and task.result.verified)
        facts = {"task": task.id, "commit": task.commit or "", "verified": verified, "refused": failed}
        action = "completed" if task.status is Status.COMPLETED else "completion_refused"
        self._stores.events.record(action, subject=task.subject, **facts)
        if task.status is Status.COMPLETED:
            proof = "its checks passed" if verified else "it has no checks, so nothing proves it"
            self._report(task, "result", f"{task.subject}: {summary}\n({proof})")
        elif task.status is Status.FAILED:
            self._report(task, "task_failed", f"{task.subject} has failed: {task.why}")

    async def ended_without(self) -> Task | None:
        """The model ended its turn without handing in: a refusal on record, at last a failed task."""
        return await self._off_loop(self._refuse_silence)

    def _refuse_silence(self) -> Task | None:
        task = self._desk.task
        if task is None:
            return None
        if task.status is not Status.IN_PROGRESS:
            return task
        ended = self._desk.not_handed_in(self._meter.total)
        self._tell(ended, "")
        return ended.task

    def _report(self, task: Task, kind: str, text: str) -> None:
        marks = {"task": task.id, "subject": task.subject, "commit": task.commit or ""}
        self._stores.outbox.send("lead", text, type=kind, metadata=marks)

    def heard_sent(self, to: str) -> None:
        """The model sent a message."""
        self.asked_lead = self.asked_lead or to == "lead"

    # leaving

    async def give_back(self, why: str) -> None:
        """The task is on the board again, with what was done kept in a commit."""
        task = self._desk.task
        if task and task.status is Status.IN_PROGRESS:
            with suppress(StaleToken, InvalidTransition):  # it was taken back before
                await self._off_loop(self._desk.give_back, why)
                self._stores.events.record("released", task=task.id, subject=task.subject, why=why)
        await self.leave()

    async def leave(self) -> None:
        """The teammate works nowhere any more."""
        self._desk.leave()
        self._keeper.holds(None, None)
        await self._off_loop(self._stores.tasks.refresh_views)
