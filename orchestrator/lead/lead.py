"""One run, from the goal to the report: plan, confirm, supervise, merge, end."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING

import anyio

from coordination.errors import TeamError, first_of
from coordination.records import Status
from harness.loop import Incoming
from harness.models.limits import LimitReached
from harness.stop_signals import unless_ignored, until_stopped
from harness.turn import Ended
from orchestrator.lead.briefs import end_brief, forgotten_brief, nobody_works_brief, unanswered_brief
from orchestrator.lead.ending import conclude, give_up_empty_run, stop_team_of
from orchestrator.lead.outcome import Ending, ExitCode, ModelGaveUp, after_signal, code_of, parting
from orchestrator.lead.planned import ask_for_members
from orchestrator.lead.standing import Standing
from orchestrator.lead.watch import watch
from orchestrator.terminal.confirmation import NotConfirmed
from orchestrator.terminal.console import show_mail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.interactive.talk import Talk
    from orchestrator.lead.parts import Conversation, LeadParts
    from orchestrator.terminal.at_terminal import AtTerminal
    from orchestrator.terminal.confirmation import Confirmation
    from orchestrator.terminal.console import Console, Stream

CALLS = {True: 1, False: 5}  # for members with no further task finished; with a model, and without
REST_SECONDS = 3.0  # how late at most is noticed what only time brings: a schedule, a limit


class Lead:
    """The flow of one lead; every effect lies in the parts it was given."""

    def __init__(
        self,
        parts: LeadParts,
        console: Console,
        stream: Stream,
        *,
        confirmation: Confirmation,
        can_wait: bool,
        talk: Talk | None = None,
    ) -> None:
        """`can_wait` says whether a person may answer questions while the run goes on."""
        self.at_terminal: AtTerminal | None = None  # where questions to the person are shown
        self._parts = parts
        self._console = console
        self._stream = stream
        self._confirmation = confirmation
        self._can_wait = can_wait
        self._talk = talk
        self._told: tuple[Standing, int] | None = None  # of a standstill, in a session
        self._code = ExitCode.FAILED
        self._scope: anyio.CancelScope | None = None  # of everything but the stop of the team
        self._stopped_by: signal.Signals | None = None
        self._words = ""
        self._gave_up = ""  # why no model leads any more
        self._finished, self._calls = 0, 0  # tasks, and calls for members since the last of them

    async def run(self, conversation: Conversation | None, incoming: Sequence[Incoming]) -> Ending:
        """The run is over: its members are stopped, its report is on disk.

        Without a conversation the tasks are there already and no model leads. Raises NotConfirmed,
        ModelGaveUp, TermOver; whatever is raised, no process of the team is left.
        """
        opened, box = self._parts.opened, self._parts.settings.sandbox
        self._parts.stores.events.record("leads", term=opened.term, run=opened.run.id, sandbox=box)
        try:
            work = partial(self._lead_and_stop, conversation, incoming)
            await until_stopped(partial(self._parts.sharing.during, work), self._heed, unless_ignored())
        except* TeamError as errors:
            raise first_of(errors) from None
        code, unasked = after_signal(self._code, self._stopped_by), "permission_unasked" in self._stream.heard
        return conclude(self._parts, code, self._words, cut_short=self._gave_up, was_unasked=unasked)

    async def _lead_and_stop(self, conversation: Conversation | None, incoming: Sequence[Incoming]) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._scope = group.cancel_scope
                if self._stopped_by:
                    self._scope.cancel()
                group.start_soon(watch, self._parts, self._stream, self._stop)
                group.start_soon(self._integrate)
                if conversation:
                    group.start_soon(conversation.jobs.serve)
                    group.start_soon(conversation.extras.servers.serve)
                if self._talk:
                    group.start_soon(self._talk.person.attend, self._talk.lines, self._parts.pulse.ring)
                    group.start_soon(self._talk.keep_glance, self._parts, self._stream)
                if self.at_terminal:
                    group.start_soon(self.at_terminal.run)
                self._code = await self._lead_or_give_up(conversation, incoming)
                group.cancel_scope.cancel()
        except* TeamError:
            await self._parts.behind(give_up_empty_run, self._parts)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await stop_team_of(self._parts)
                self._stream.show_new()

    def _heed(self, number: signal.Signals) -> None:
        self._stop(number.name, number)

    def _stop(self, why: str, number: signal.Signals = signal.SIGTERM) -> None:
        """The first signal or order stops the team; others change nothing, or processes would be left."""
        again = self._stopped_by is not None
        self._stopped_by = self._stopped_by or number
        self._parts.grounds.is_stopping = True
        self._console.say(f"{why}: {'still ' if again else ''}stopping the team …")
        if self._scope:
            self._scope.cancel()

    async def _integrate(self) -> None:
        """Completed work is merged as it comes."""
        parts = self._parts
        while True:
            seen = parts.pulse.count
            merged = False
            while await parts.grounds.integration.bring_back(parts.merging):
                merged = True
                parts.pulse.ring()
            if merged:
                await parts.merging(parts.grounds.tidying.step)
            await parts.pulse.wait(seen, REST_SECONDS)

    async def _lead_or_give_up(
        self, conversation: Conversation | None, incoming: Sequence[Incoming]
    ) -> ExitCode:
        """A model that does not answer ends the process, not the run: a later lead may reach it."""
        try:
            return await self._lead(conversation, incoming)
        except ModelGaveUp as error:
            if error.exit_code is ExitCode.USAGE:
                raise
            self._gave_up = str(error)
            return error.exit_code

    async def _lead(self, conversation: Conversation | None, incoming: Sequence[Incoming]) -> ExitCode:
        if conversation and (incoming or conversation.agent.has_to_answer):
            await self._turn(conversation, incoming)
        await self._begin_team()
        while True:
            seen = self._parts.pulse.count
            if await self._take_mail(conversation):
                continue
            state = await self._parts.behind(self._parts.standing)
            if halted := self._parts.halts.halt(state, in_session=self._talk is not None):
                raise halted
            if self._talk and conversation:
                if self._talk.person.has_left:
                    return parting(state)
                await self._attend(state, conversation)
            elif await self._is_over(state, conversation):
                return await self._last_words(state, conversation)
            await self._parts.pulse.wait(seen, REST_SECONDS)

    async def _turn(self, conversation: Conversation, incoming: Sequence[Incoming]) -> None:
        try:
            if self._talk:
                await self._talk.person.in_turn(partial(self._answer, conversation, incoming))
            else:
                await self._answer(conversation, incoming)
        finally:
            self._console.flush()  # also what was cut short
        if not conversation.jobs.running:  # its tree is theirs to work in until they have ended
            await conversation.work.end_turn()

    async def _answer(self, conversation: Conversation, incoming: Sequence[Incoming]) -> None:
        outcome = await conversation.agent.run(incoming)
        is_limit = isinstance(outcome.error, LimitReached)
        if is_limit or (outcome.ended is Ended.GAVE_UP and not self._talk):
            raise ModelGaveUp(cause=outcome.why, exit_code=code_of(outcome.error))
        if outcome.ended is Ended.GAVE_UP:
            self._console.say(f"leadhand: the model gives no reply: {outcome.why}")
        self._words = outcome.text or self._words

    async def _attend(self, state: Standing, conversation: Conversation) -> None:
        """The lead's model hears once of a standstill; then it is the person's turn."""
        tasks = await self._parts.behind(self._parts.tasks)
        told = (state, sum(task.status.is_final for task in tasks))
        if not tasks or state in {Standing.GOING, Standing.WAITING} or told == self._told:
            return
        self._told = told
        text = end_brief(tasks, state) if state is Standing.DRAINED else nobody_works_brief(tasks)
        await self._turn(conversation, [Incoming(text=text, kind="event")])
        await self._begin_team()

    async def _take_mail(self, conversation: Conversation | None) -> bool:
        incoming = await (conversation.news if conversation else self._parts.inbox).take()
        if not incoming:
            return conversation is not None and await self._remind(conversation)
        if conversation:
            await self._turn(conversation, incoming)
            await self._begin_team()
        else:
            await self._parts.off_loop(
                self._parts.journal.append_all,
                [(item.kind, {"text": item.text, **item.journal}) for item in incoming],
            )
            await self._parts.inbox.settle()
            show_mail(self._console, incoming)
        return True

    async def _remind(self, conversation: Conversation) -> bool:
        owed = self._parts.owed
        texts = [forgotten_brief(plans)] if (plans := await self._parts.behind(owed.plans)) else []
        texts += [unanswered_brief(names)] if (names := await self._parts.behind(owed.answers)) else []
        if texts:
            await self._turn(conversation, [Incoming(text=text, kind="event") for text in texts])
        return bool(texts)

    async def _begin_team(self) -> None:
        """The turn is over: what it made may be claimed, and who it asked for starts if the person agrees."""
        parts = self._parts
        tasks = await parts.behind(self._parts.tasks)
        agreed = None
        if parts.host.waiting:
            working = await parts.behind(parts.host.working)
            try:
                agreed = await self._confirmation.ask(tasks, parts.host.waiting, working=working)
            except NotConfirmed as no:
                if not self._talk:
                    raise
                await parts.behind(parts.host.launch_waiting, 0)
                self._console.say(str(no))
                return
        await parts.behind(self._begin, [task.id for task in tasks if task.status is Status.HELD], agreed)

    def _begin(self, held: Sequence[str], agreed: int | None) -> None:
        self._parts.background.tasks.publish(held)
        if agreed is not None:
            self._parts.host.launch_waiting(agreed)
            self._parts.background.runs.update(self._parts.opened.run.id, confirmed=True, workers=agreed)

    async def _is_over(self, state: Standing, conversation: Conversation | None) -> bool:
        if conversation and (conversation.jobs.running or conversation.jobs.has_news):
            return False
        if state is Standing.GOING or (state is Standing.WAITING and self._can_wait):
            return False
        return state is not Standing.STUCK or not await self._call_for_members(conversation)

    async def _call_for_members(self, conversation: Conversation | None) -> bool:
        """Those who left were asked for again; False when nobody is missing, or nobody that came did help."""
        tasks = await self._parts.behind(self._parts.tasks)
        finished = sum(task.status.is_final for task in tasks)
        self._calls = self._calls + 1 if finished == self._finished else 1
        self._finished = finished
        if self._calls > CALLS[conversation is not None]:
            return False
        if conversation:
            await self._turn(conversation, [Incoming(text=nobody_works_brief(tasks), kind="event")])
        elif not await ask_for_members(self._parts, wanted=self._parts.host.confirmed):
            return False
        await self._begin_team()
        return True

    async def _last_words(self, state: Standing, conversation: Conversation | None) -> ExitCode:
        tasks = await self._parts.behind(self._parts.tasks)
        if conversation and tasks:
            await self._turn(conversation, [Incoming(text=end_brief(tasks, state), kind="event")])
        if state is Standing.WAITING:
            return ExitCode.WAITING
        return ExitCode.DONE if state is Standing.DRAINED else ExitCode.FAILED
