"""What a teammate's host does around its one task: claim, plan, prove, hand in, give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from agent_worker.briefing import briefing
from agent_worker.while_kept import while_kept
from coordination.errors import TeamError
from coordination.liveness import LOOKS_PER_TTL
from coordination.mail.lines import BRANCH_MOVED, NO_ANSWER, UNDELIVERABLE
from coordination.records import MemberState, PlanState, Status
from coordination.tasks.rules import InvalidTransition, StaleToken
from coordination.usage import Usage
from harness.models.ledger import used_on
from harness.tool import NoWorkingDirectory, ToolFailure
from harness.tools.mail import TOLD_BY_HOST
from workspace.desk import HandedIn, NoTask, checks_of, kept_branch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from agent_worker.lease_keeper import LeaseKeeper
    from agent_worker.plan_gate import PlanOfTask
    from coordination.records import Member, Task
    from coordination.stores import Stores
    from harness.models.metered_model import MeteredModel
    from harness.off_loop import OffLoop
    from harness.pulse import Pulse
    from harness.tool import Effect
    from workspace.desk import Desk, Proof

ANSWERS_NOTHING = TOLD_BY_HOST | {UNDELIVERABLE, BRANCH_MOVED}  # types of mail that nobody wrote
NO_ANSWER_NEEDED = ANSWERS_NOTHING | {NO_ANSWER}

MERGE_LOOK_SECONDS = 0.1
MERGE_PATIENCE_SECONDS = 5.0  # for the work of blockers to reach the run's branch; else it is merged in
IN_DOUBT = (
    "lease_in_doubt",
    "this process cannot show that it lives, so the task may be another's by now; change nothing",
)
_SETTLED = {PlanState.NOT_REQUIRED, PlanState.APPROVED}


class Assignment:
    """The teammate's present task; satisfies the `Work` that its tools need."""

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        stores: Stores,
        desk: Desk,
        keeper: LeaseKeeper,
        *,
        plan: PlanOfTask,
        pulse: Pulse,
        off_loop: OffLoop,
        meter: MeteredModel,
        proof: Proof,
        former: Member | None = None,
        end_background: Callable[[str], Awaitable[None]],
    ) -> None:
        """`former` is the dead process of the same name that this one goes on for."""
        self.untrusted: Callable[[], str] = lambda: ""  # what the conversation holds from elsewhere
        self._stores = stores
        self._pulse = pulse
        self._desk = desk
        self._keeper = keeper
        self._plan = plan
        self._off_loop = off_loop
        self._meter = meter
        self._proof = proof
        self._former = former
        self._end_background = end_background

    @property
    def task(self) -> Task | None:
        """The task as it was last seen."""
        return self._desk.task

    def task_id(self) -> str | None:
        """The id of the task, if there is one."""
        return self.task.id if self.task else None

    def cwd(self) -> Path:
        """The tree of the task. Raises NoWorkingDirectory; there is never another directory instead."""
        try:
            return self._desk.tree
        except NoTask as error:
            raise NoWorkingDirectory(why=str(error)) from error

    @property
    def variables(self) -> Mapping[str, str]:
        """What commands find in their environment in the tree of the task."""
        return self._desk.variables

    async def take_next(self) -> Task | None:
        """The best task that is ready is this teammate's, with a tree."""
        task = await self._off_loop(self._stores.tasks.claim_next, self._desk.claimant)
        return await self._sit_down(task) if task else None

    async def take_up(self) -> Task | None:
        """The task that a former process of this name held goes on, its plan with it; None without one."""
        task = await while_kept(self._keeper, self._off_loop(self._take_up))
        return await self._make_place(task) if task and self._desk.task is None else task

    def _take_up(self) -> Task | None:
        stores, claimant = self._stores, self._desk.claimant
        held = stores.tasks.own_unfinished(claimant.name)
        if held is None or self._former is None:
            return None
        died = self._former.state is not MemberState.CLOSING  # that is a stop on record
        task = stores.tasks.resume(held.id, claimant, died=died)
        stores.events.record("resumed", task=task.id, subject=task.subject, token=task.token)
        if task.status.is_final:
            return None
        self._meter.total = used_on(stores.team.directory, task.id, stores.roster.bearers(self._former))
        self._keeper.holds(task.id, task.token)
        self._desk.go_on(task)
        return task

    async def claim(self, task_id: str) -> str:
        """The named task is this teammate's; returns its briefing. Raises TurnNotOver."""
        self._desk.check_free()
        task = await self._off_loop(self._stores.tasks.claim, task_id, self._desk.claimant)
        return await self.brief(await self._sit_down(task))

    async def brief(self, task: Task) -> str:
        """All that the model is told of the task."""
        required = await self._plan.state() is not PlanState.NOT_REQUIRED
        return briefing(task, self._desk.tree, checks_of(task, self._proof), plan_required=required)

    async def inherited_mark(self, task: Task) -> str:
        """What the work that the task builds on has from elsewhere; empty when nothing."""
        blockers = [await self._off_loop(self._stores.tasks.get, blocker) for blocker in task.blocked_by]
        marks = (blocker.result.untrusted for blocker in blockers if blocker.result)
        return next(filter(None, marks), "")

    async def _sit_down(self, task: Task) -> Task:
        self._keeper.holds(task.id, task.token)
        self._stores.events.record("claimed", task=task.id, subject=task.subject, token=task.token)
        self._meter.total = Usage()
        deadline = anyio.current_time() + MERGE_PATIENCE_SECONDS
        while await self._off_loop(self._waits_for_merge, task) and anyio.current_time() < deadline:
            await self._pulse.wait(self._pulse.count, MERGE_LOOK_SECONDS)
        return await self._make_place(task)

    async def _make_place(self, task: Task) -> Task:
        run = await self._off_loop(self._stores.runs.get, task.run or "")
        try:
            return await while_kept(self._keeper, self._off_loop(self._desk.sit_down, task, run))
        except TeamError:
            self._keeper.holds(None, None)
            await self._off_loop(self._report_failed, task.id)
            raise

    def _waits_for_merge(self, task: Task) -> bool:
        blockers = (self._stores.tasks.get(blocker) for blocker in task.blocked_by)
        return any(
            blocker.merged is None for blocker in blockers if blocker.result and blocker.result.verified
        )

    async def gate(self, _: Effect) -> tuple[str, str] | None:
        """The lease gate: whatever touches files needs the tree of a task that is held."""
        return await self.problem()

    async def problem(self) -> tuple[str, str] | None:
        """Why the teammate may not touch its tree: reason code and text.

        A holder that doubts pauses until its beat is renewed; only then its token is looked at.
        """
        for _ in range(LOOKS_PER_TTL):
            is_renewed, problem = await self._off_loop(self._renew_and_look)
            if is_renewed:
                return (problem.reason, str(problem)) if problem else None
            await anyio.sleep(self._keeper.interval)
        return IN_DOUBT

    def _renew_and_look(self) -> tuple[bool, TeamError | None]:
        return (True, self._problem()) if self._keeper.renew() else (False, None)

    def _problem(self) -> TeamError | None:
        problem, task = self._desk.problem(), self._desk.task
        if problem and task and not self._stores.tasks.is_held(task.id, task.token or 0):
            self._keeper.loses(task.id, task.token)
        return problem

    async def declare(self, *, waiting_on: str | None) -> None:
        """The roster says what the teammate waits for, or that it does not."""
        me = self._desk.claimant
        await self._off_loop(self._stores.roster.update, me.name, me.incarnation, waiting_on=waiting_on)

    async def complete(self, summary: str) -> str:
        """The task is completed, proven by its checks, and the lead has the result."""
        if await self._plan.state() not in _SETTLED:
            raise ToolFailure(
                code="plan_not_approved", detail="a task cannot be completed before its plan is approved"
            )
        if self.task and self.task.status.is_final:
            raise ToolFailure(
                code="already_final", detail=f"{self.task.id} is {self.task.status} already; end your turn"
            )
        done = await while_kept(self._keeper, self._off_loop(self._hand_in, summary))
        await self._off_loop(self._tell, done, summary)
        if done.refused:
            raise ToolFailure(code="checks_failed", detail=str(done))
        return str(done)

    def _hand_in(self, summary: str) -> HandedIn:
        task = self._desk.task
        try:
            return self._desk.complete(summary, self._meter.total, untrusted=self.untrusted())
        except StaleToken as error:  # too late: the commit is kept for the lead to look at
            if task:
                self._stores.events.record("late_result", task=task.id, subject=task.subject, why=str(error))
                branch = kept_branch(task)
                self._report(task, "late_result", f"{task.subject} was handed in too late; see {branch}")
            raise

    def _tell(self, done: HandedIn, summary: str) -> None:
        task = done.task
        failed = [check.name for check in done.refused]
        verified = bool(task.result and task.result.verified)
        facts = {"task": task.id, "commit": task.commit or "", "verified": verified, "refused": failed}
        facts |= {} if done.sandboxed is None else {"sandboxed": done.sandboxed}
        action = "completion_refused" if failed else "not_handed_in"
        if task.status is Status.COMPLETED:
            action = "completed"
        self._stores.events.record(action, subject=task.subject, **facts)
        if task.status is Status.COMPLETED:
            proof = "its checks passed" if verified else "it has no checks, so nothing proves it"
            self._report(task, "result", f"{task.subject}: {summary}\n({proof})")
        self._report_failed(task.id)

    def _report_failed(self, task_id: str) -> None:
        task = self._stores.tasks.get(task_id)
        if task.status is Status.FAILED:
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
        if why := self.untrusted():
            marks["untrusted"] = why
        self._stores.outbox.send("lead", text, type=kind, metadata=marks)

    async def give_back(self, why: str) -> None:
        """The task is on the board again, with what was done kept in a commit."""
        await self._end_background(why)  # before the tree is kept: nothing writes to it any more
        task = self._desk.task
        if task and task.status is Status.IN_PROGRESS:
            marks = {"task": task.id, "subject": task.subject}
            try:
                await self._off_loop(self._desk.give_back, why)
                self._stores.events.record("released", why=why, **marks)
            except (StaleToken, InvalidTransition) as late:  # taken back before; the work is kept aside
                self._stores.events.record("late_result", why=f"{late}; see {kept_branch(task)}", **marks)
        await self.leave()

    async def leave(self) -> None:
        """The teammate works nowhere any more."""
        await self._end_background("its task was left")
        self._desk.leave()
        self._keeper.holds(None, None)
        await self._off_loop(self._stores.tasks.refresh_views)
