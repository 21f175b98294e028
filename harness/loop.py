"""The one loop: take in what arrived, call the model, run its tools, until it calls none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from anyio import CancelScope, Lock, to_thread
from msgspec.structs import asdict

from harness.context.conversation import GOES_ON, MARK_KIND, Conversation
from harness.context.messages import open_calls, unknown_outcomes
from harness.context.reminder import after_restart, with_results
from harness.context.time_told import TimeTold
from harness.models.limits import LimitReached
from harness.models.model import WINDOW_FULL, Model, ModelRequest, NoReply, PromptTooLong, Reply, ToolUse
from harness.turn import Ended, Turn, TurnOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.events import Recorder
    from harness.context.compactor import Compactor
    from harness.hooks.turn import TurnHooks
    from harness.journal import Journal
    from harness.memory.keeper import MemoryKeeper
    from harness.request_cost import RequestCost

CONTINUATIONS = 2  # how often a reply that ran out of room is asked to go on
GO_ON = "Your reply ran out of room. Go on exactly where it stopped, without repeating anything."
CUT_CALL = (
    "[loop/reply_cut] the reply ran out of room before its calls were whole, so none of them was run; "
    "make fewer calls at once, or smaller ones"
)


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """Something that arrived for the agent."""

    text: str  # rendered, escaped and framed with its sender
    kind: str = "user"  # user, mail, event …
    journal: dict[str, Any] = field(default_factory=dict)  # further fields of its line, such as mail's source


class Inbox(Protocol):
    """Where the agent asks for what arrived since it last asked; what was taken stays taken, if not said."""

    async def take(self) -> list[Incoming]:
        """What is new; the agent makes it durable before it does anything else."""
        ...

    async def settle(self) -> None:
        """What was taken is durable, and counts as delivered. Raises what ends the process."""
        return

    async def answered(self) -> None:
        """The model has replied to what was taken. Raises what ends the process."""
        return

    async def put_back(self) -> list[str]:
        """No model replied to what was taken: the texts to be withdrawn, which come again later."""
        return []


class Pool(Protocol):
    """The tools of the agent."""

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as the Messages API wants them."""
        ...

    async def run(self, calls: Sequence[ToolUse], /) -> list[dict[str, Any]]:
        """One `tool_result` block per call, in order; every failure is such a block."""
        ...

    def ends_turn(self, calls: Sequence[ToolUse], results: Sequence[dict[str, Any]], /) -> bool:
        """True when one of the calls, having succeeded, leaves nothing to do but wait."""
        ...


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """What an agent is run with."""

    model: str
    max_tokens: int = 8000  # of one reply
    max_rounds: int = 200  # model calls of one turn


class Agent:
    """One conversation with a model that has tools."""

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        *,
        model: Model,
        pool: Pool,
        inbox: Inbox,
        journal: Journal,
        system: Callable[[], str],
        settings: AgentSettings,
        compactor: Compactor,
        events: Recorder,
        on_text: Callable[[str], None] = lambda _: None,
        stopping: Callable[[], bool] = lambda: False,
        conversation: Conversation | None = None,
    ) -> None:
        self._model = model
        self._pool = pool
        self._inbox = inbox
        self._journal = journal
        self._system = system
        self._settings = settings
        self._compactor = compactor
        self._events = events
        self._on_text = on_text
        self.stopping = stopping
        self.hooks: TurnHooks | None = None  # of the person, around its turns
        self.memory: MemoryKeeper | None = None  # of the team
        self.time = TimeTold()  # with a clock where the model is to know it
        self.cost: RequestCost | None = None  # of what stands before the conversation
        self.conversation = conversation or Conversation()
        self._one_at_a_time = Lock(fast_acquire=True)  # lines count in the order in which they are on disk

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the model has seen and said."""
        return self.conversation.messages

    @property
    def has_to_answer(self) -> bool:
        """True when the last word is not the model's, or calls of it have no result yet."""
        return bool(self.messages) and (
            self.messages[-1]["role"] == "user" or bool(open_calls(self.messages))
        )

    async def begin(self, why: str, *, about: str = "") -> None:
        """A new conversation: the model remembers nothing of the one before but mail not yet answered."""
        self.time.forget()
        left = self.conversation.unanswered
        put_back = [{"role": "user", "content": [{"type": "text", "text": text} for text in left]}]
        kept = {"messages": put_back, "unanswered": left} if left else {}
        await self._write([("conversation", {"why": why, "about": about, **kept})])

    async def go_on(self, left: Conversation) -> None:
        """The conversation that another process left behind is this one's; its open calls are unknown."""
        owed = after_restart(left, self._pool.schemas)
        await self._write([("conversation", {"why": GOES_ON, **left.to_json()}), *owed])

    async def distrust(self, why: str) -> None:
        """That a running call brings something from elsewhere is durable; it marks the conversation."""
        if not self.conversation.brought:
            await self._write([(MARK_KIND, {"untrusted": why})])

    async def note_todos(self, todos: list[dict[str, Any]]) -> None:
        """The todo list is durable."""
        await self._write([("todos", {"todos": todos})])

    async def compact(self, focus: str = "") -> None:
        """That the conversation is to be summed up before the next model call, is durable."""
        await self._write([("compact", {"focus": focus})])

    async def hear(self, incoming: Sequence[Incoming]) -> None:
        """What arrived is in the conversation; the model sees it at its next call."""
        if incoming:
            recalled = await self.memory.recall(incoming, self.conversation) if self.memory else []
            items = [(item.kind, {"text": item.text, **item.journal}) for item in (*incoming, *recalled)]
            await self._write([*self.time.news(), *items])
            await self._inbox.settle()

    async def run(self, incoming: Sequence[Incoming] = ()) -> TurnOutcome:
        """Rounds of model and tools until a reply calls no tool, or the turn has to end otherwise.

        What arrived is in the journal before the model sees it, and a reply before its tools run.
        Cancelling is safe at any point: a call whose end nobody saw is answered as unknown by the next run.
        """
        if calls := open_calls(self.messages):
            await self._write([("tool_results", {"content": unknown_outcomes(calls)})])
        if self.hooks:
            incoming, refused = await self.hooks.admit(incoming)
            if refused:
                return Turn().outcome(Ended.STOPPED, refused)
        await self.hear(incoming)
        outcome = await self._rounds(Turn())
        if self.memory and not self.stopping():
            await self.memory.turn_over(outcome, self.conversation)
        return outcome

    async def _rounds(self, turn: Turn) -> TurnOutcome:
        while True:
            await self.hear(await self._inbox.take())
            if self.stopping():
                return turn.outcome(Ended.STOPPED, "asked to stop")
            if not self.has_to_answer:
                return turn.outcome(Ended.DONE, "nothing new to answer")
            if turn.rounds >= self._settings.max_rounds:
                return turn.outcome(Ended.LIMIT, f"{turn.rounds} model calls in one turn")
            try:
                reply = await self._reply()
            except NoReply as error:
                return await self._without_reply(turn, error)
            await self._record(reply, turn)
            await self._inbox.answered()
            if await self._is_over(reply, turn):
                return turn.outcome(Ended.DONE)

    async def _without_reply(self, turn: Turn, error: NoReply) -> TurnOutcome:
        """What was only injected comes again another time; the rest stays for the next turn."""
        if texts := await self._inbox.put_back():
            self.time.forget()
            await self._write([("withdrawn", {"texts": texts})])
        if isinstance(error, LimitReached):
            self._events.record("limit_reached", scope=error.scope, limit=error.what)
            return turn.outcome(Ended.LIMIT, str(error), error)
        self._events.record("model_gave_up", reason=error.reason, error=str(error))
        return turn.outcome(Ended.GAVE_UP, str(error), error)

    async def _reply(self) -> Reply:
        """The reply to a request that was made to fit; once more where the server knows better."""
        request = self._request()
        if self.cost and (told := self.cost.news(request)):
            self._events.record("request_cost", **told)
        await self._compactor.make_room(self.conversation, self._write, request)
        try:
            reply = await self._ask(request)
        except PromptTooLong:
            await self._compactor.make_room(self.conversation, self._write, request, urgent=True)
            reply = await self._ask(request)
        self._compactor.heard(reply, self.conversation, request)
        return reply

    async def _ask(self, request: ModelRequest) -> Reply:
        tokens = self._compactor.reply_tokens(request.max_tokens)
        asked = replace(request, messages=self.messages, max_tokens=tokens)
        reply = await self._model.reply(asked, self._on_text)
        self._on_text("\n")  # the words of the next one begin a line
        return reply

    async def _is_over(self, reply: Reply, turn: Turn) -> bool:
        """Do what the reply asks for; True when no further model call follows from it."""
        if reply.stop_reason == WINDOW_FULL:
            await self.compact()
        uses = reply.tool_uses
        if not uses:
            return not (await self._asked_to_go_on(reply, turn) or await self._kept_going(reply, turn))
        if reply.is_cut:
            results = [_cut_result(use) for use in uses]
        else:
            results = await self._pool.run(uses)
        reminder = with_results(self.conversation, self._pool.schemas)
        await self._write([("tool_results", {"content": results}), *reminder])
        return not reply.is_cut and self._pool.ends_turn(uses, results)

    async def _asked_to_go_on(self, reply: Reply, turn: Turn) -> bool:
        if not reply.is_cut or turn.continuations >= CONTINUATIONS:
            return False
        turn.continuations += 1
        await self._write([("continuation", {"text": GO_ON})])
        return True

    async def _kept_going(self, reply: Reply, turn: Turn) -> bool:
        objection = await self.hooks.objection_to_stop(reply.text, turn.vetoes) if self.hooks else ""
        if not objection:
            return False
        turn.vetoes += 1
        await self._write([("hook", {"text": f"[A hook of the person wants more] {objection}"})])
        return True

    def _request(self) -> ModelRequest:
        return ModelRequest(
            model=self._settings.model,
            system=self._system(),
            messages=self.messages,
            tools=self._pool.schemas,
            max_tokens=self._settings.max_tokens,
        )

    async def _record(self, reply: Reply, turn: Turn) -> None:
        usage = asdict(reply.usage)
        facts = {"stop_reason": reply.stop_reason, "model": reply.model, "request_id": reply.request_id}
        await self._write([("assistant", {"content": reply.content, "usage": usage, **facts})])
        tools = [use.name for use in reply.tool_uses]
        self._events.record("model_call", usage=usage, tools=tools, **facts)
        turn.add(reply)

    async def _write(self, entries: list[tuple[str, dict[str, Any]]]) -> None:
        """On disk first, then in the conversation; a cancellation cannot come between."""
        with CancelScope(shield=True):
            async with self._one_at_a_time:
                for line in await to_thread.run_sync(partial(self._journal.append_all, entries)):
                    self.conversation.take(line)


def _cut_result(use: ToolUse) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": use.id, "content": CUT_CALL, "is_error": True}
