"""A teammate's life: mail, its own task, a new claim, idle, and at last a clean end."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from agent_worker.assignment import ANSWERS_NOTHING
from agent_worker.briefing import PLAN_VOID, not_completed, plan_decided
from agent_worker.waiting import asks_for_an_answer, awaits_decision
from coordination.errors import TeamError, first_of
from coordination.protocols import answer_of
from coordination.records import PlanState, Status
from harness.context.conversation import REQUEST_KIND, Conversation
from harness.loop import Incoming
from harness.models.anthropic_model import load_sdk
from harness.models.limits import LimitReached
from harness.stop_signals import until_stopped
from harness.turn import Ended
from workspace.setup.checkout import WrongCheckout
from workspace.setup.tree_setup import SetupFailed

if TYPE_CHECKING:
    import signal
    from collections.abc import Awaitable, Callable, Coroutine

    from agent_worker.asking import Asking
    from agent_worker.assignment import Assignment
    from agent_worker.lease_keeper import LeaseKeeper
    from agent_worker.lookout import Lookout
    from agent_worker.plan_gate import PlanOfTask
    from coordination.records import Task
    from coordination.stores import Stores
    from harness.loop import Agent
    from harness.pulse import Pulse
    from harness.sources import Sources
    from harness.tools.background import Background
    from harness.tools.mail import TeamInbox
    from harness.turn import TurnOutcome

ANSWER_PATIENCE_SECONDS = 600.0  # how long a question to the lead holds a task up (DESIGN 6: 10 min)
GIVE_UPS = 3  # turns in a row without a reply of the model; then the process ends
REST_SECONDS = 5.0  # after a task could not be worked on

logger = logging.getLogger(__name__)


class Worker:
    """The loop around the agent; every effect lies in the parts it was given."""

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        *,
        stores: Stores,
        pulse: Pulse,
        assignment: Assignment,
        plan: PlanOfTask,
        agent: Agent,
        inbox: TeamInbox,
        background: Background,
        asking: Asking,
        news: Sources,
        lookout: Lookout,
        keeper: LeaseKeeper,
        beside: Callable[[], Coroutine[Any, Any, None]],
        left: Conversation,
    ) -> None:
        """`beside` goes on until the end, whatever the agent does.

        `left` is the conversation of the dead process of the same name that this one goes on for.
        """
        self._stores = stores
        self._pulse = pulse
        self._assignment = assignment
        self._plan = plan
        self._agent = agent
        self._inbox = inbox
        self._background = background
        self._asking = asking
        self._news = news  # mail and the ends of background commands; nothing while the team rests
        self._lookout = lookout
        self._keeper = keeper
        self._beside = beside
        self._left = left
        self._is_idle = False  # and the hooks have nothing against it
        self._vetoes = 0  # of hooks against being idle, in a row
        self._give_ups = 0
        self._scope: anyio.CancelScope | None = None  # of everything but giving the task back

    @property
    def why(self) -> str:
        """Why it ended."""
        return self._lookout.shutdown.why or "the process ended"

    async def run(self) -> None:
        """The teammate works until it is asked to stop; its task is then on the board again.

        Raises Superseded, and what else keeps it from going on.
        """
        try:
            await until_stopped(self._run, self._heed)
        except* TeamError as errors:
            raise first_of(errors) from None

    async def _run(self) -> None:
        async with anyio.create_task_group() as group:
            self._scope = group.cancel_scope
            group.start_soon(self._lookout.keep_looking)
            group.start_soon(self._background.serve)
            group.start_soon(load_sdk)
            group.start_soon(self._beside)
            try:
                await self._serve()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._assignment.give_back(self.why)
            group.cancel_scope.cancel()

    def _heed(self, number: signal.Signals) -> None:
        self._lookout.shutdown.ask(f"got {number.name}", at_once=True)
        if self._scope:
            self._scope.cancel()

    async def _serve(self) -> None:
        if task := await self._taken(self._assignment.take_up):
            await self._work(task)
        while not self._lookout.is_over(has_task=False):
            seen = self._pulse.count
            if await self._answer_mail() or await self._work_next():
                self._is_idle, self._vetoes = False, 0
                await self._asking.settle_up()
            elif not await self._kept_busy():
                await self._idle(seen)

    async def _work_next(self) -> bool:
        """Its own task, as one that was claimed in answer to mail, or else a further one was worked on."""
        task = None if self._is_final() else self._assignment.task
        if task is None and await self._lookout.sees_lead():
            task = await self._taken(self._assignment.take_next)
        if task:
            await self._work(task)
        return task is not None

    async def _kept_busy(self) -> bool:
        """A hook of the person did not want the teammate to go idle, so it had one more turn."""
        hooks = None if self._is_idle else self._agent.hooks
        objection = await hooks.objection_to_idle(self._vetoes) if hooks else ""
        if not objection:
            self._is_idle = True
            return False
        self._vetoes += 1
        await self._agent.run([Incoming(text=f"[A hook of the person wants more] {objection}", kind="event")])
        return True

    async def _taken(self, take: Callable[[], Awaitable[Task | None]]) -> Task | None:
        try:
            return await take()
        except (SetupFailed, WrongCheckout) as error:  # the next tree would fare no better
            self._stores.events.record("setup_failed", error=str(error))
            self._stores.outbox.send("lead", str(error), type="setup_failed")
            self._lookout.shutdown.ask(f"no tree could be made ready: {str(error).partition(':')[0]}")
        except TeamError as error:  # no tree could be made, and the task is on the board again
            logger.warning("cannot take a task: %s", error, extra={"action": "take_failed"})
            self._stores.events.record("take_failed", error=str(error))
            await self._rest(REST_SECONDS)
        return None

    async def _answer_mail(self) -> bool:
        """What arrived while the teammate was idle is in the conversation; answered where it asks for it."""
        incoming = await self._news.take()
        if not incoming:
            return False
        if any(map(asks_for_an_answer, incoming)):
            await self._agent.run(incoming)
            if self._is_final():
                await self._assignment.leave()
        else:
            await self._agent.hear(incoming)
        return True

    async def _idle(self, seen: int) -> None:
        self._keeper.checkpoint()
        await anyio.to_thread.run_sync(self._stores.tasks.refresh_views)
        await self._pulse.wait(seen, self._lookout.rest)

    async def _rest(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while not self._lookout.shutdown.asked:
                await self._pulse.wait(self._pulse.count, self._lookout.interval)

    async def _work(self, task: Task) -> None:
        """Turn after turn until the task is no longer this teammate's to work on."""
        incoming = await self._first_words(task)
        while not self._lookout.shutdown.asked:
            outcome = await self._agent.run(incoming)
            text = await self._go_on(outcome)
            self._asking.of = ""
            if not text:
                break
            incoming = [Incoming(text=text, kind="event")]
        if not self._lookout.shutdown.asked:
            await self._assignment.leave()

    async def _first_words(self, task: Task) -> list[Incoming]:
        """What starts the work; only what it waits for where the conversation about it goes on."""
        left, self._left = self._left, Conversation()
        self._asking.of = ""
        if left.about == task.id and left.messages:
            left.requests = [await self._assignment.brief(task)]  # the board says what is asked, no journal
            await self._agent.go_on(left)
            self._asking.take_up(left.messages)
            is_waited_for = await self._plan.take_up() and awaits_decision(left.messages)
            text = await self._until_decided() if is_waited_for else ""
            return [Incoming(text=text, kind="event")] if text else []
        await self._agent.begin(f"{task.id}: {task.subject}", about=task.id)
        text, inherited = await self._assignment.brief(task), await self._assignment.inherited_mark(task)
        mark = {"untrusted": inherited} if inherited else {}
        return [Incoming(text=text, kind=REQUEST_KIND, journal=mark)]

    async def _go_on(self, outcome: TurnOutcome) -> str:
        """What starts the next turn on the same task; empty when there is none."""
        if outcome.ended is Ended.GAVE_UP:
            await self._give_up(outcome)
            return ""
        self._give_ups = 0
        if isinstance(outcome.error, LimitReached):
            await self._assignment.give_back(outcome.why)
            self._lookout.shutdown.ask(outcome.why)
            return ""
        if self._keeper.is_lost:
            await self._assignment.give_back("its lease was lost")
        if outcome.ended is Ended.STOPPED or self._is_final() or await self._assignment.problem():
            return ""
        if self._plan.is_untold or await self._plan.state() is PlanState.PENDING:
            return await self._until_decided()  # even if it was decided before the turn was over
        return await self._until_handed_in()

    async def _until_handed_in(self) -> str:
        if self._background.running and await self._until_news():
            return "[A background command has ended, or mail has come] go on with your task."
        if await self._asking.may_be_answered() and await self._until_answered():
            return "[Mail has come] go on with your task."
        task = await self._assignment.ended_without()
        is_open = task is not None and task.status is Status.IN_PROGRESS
        return self._asking.why_not + not_completed(task) if task and is_open else ""

    def _is_final(self) -> bool:
        return self._assignment.task is None or self._assignment.task.status.is_final

    async def _give_up(self, outcome: TurnOutcome) -> None:
        self._give_ups += 1
        await self._assignment.give_back(f"the model gave no reply: {outcome.why}")
        if self._give_ups >= GIVE_UPS:
            self._lookout.shutdown.ask(f"the model gave no reply {GIVE_UPS} times: {outcome.why}")
        await self._rest(REST_SECONDS)

    async def _until_decided(self) -> str:
        await self._wait("the decision on its plan", self._is_decided)
        if await self._plan.state() is PlanState.PENDING:
            return ""
        self._plan.told()
        decision = await self._plan.decision()
        return plan_decided(decision) if decision else PLAN_VOID

    async def _is_decided(self) -> bool:
        return await self._plan.state() is not PlanState.PENDING

    async def _until_answered(self) -> bool:
        """Mail has come that may answer the question; False when none came, or none can."""
        has_answer = partial(self._inbox.has_new, besides=ANSWERS_NOTHING)

        async def is_over() -> bool:
            return await has_answer() or not await self._asking.may_be_answered()

        with anyio.move_on_after(ANSWER_PATIENCE_SECONDS):
            await self._wait(answer_of(self._asking.of), is_over)
            return await has_answer()
        await self._assignment.declare(waiting_on=None)
        return False

    async def _until_news(self) -> bool:
        return await self._wait(f"the end of {', '.join(self._background.running)}", self._has_news)

    async def _has_news(self) -> bool:
        return self._background.has_news or await self._inbox.has_new(besides=ANSWERS_NOTHING)

    async def _wait(self, for_what: str, is_there: Callable[[], Awaitable[bool]]) -> bool:
        """Wait without a model call, as the roster then says; False when the process has to end before."""
        await self._assignment.declare(waiting_on=for_what)
        seen = self._pulse.count
        while not (there := await is_there()) and not self._lookout.is_over(has_task=True):
            self._keeper.checkpoint()
            await self._pulse.wait(seen, self._lookout.interval)
            seen = self._pulse.count
        await self._assignment.declare(waiting_on=None)
        return there
