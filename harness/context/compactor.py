"""Keeps a conversation within the model's window, cheapest step first, and says what was lost where."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from msgspec.structs import asdict

from harness.context import edits
from harness.context.gauge import Gauge, sent_tokens
from harness.context.messages import size_of
from harness.context.summary import FAILED, RULE, abridged, opening, question, rendered
from harness.models.model import Capacity, ModelRequest, NoReply

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coordination.events import Recorder
    from harness.context.conversation import Conversation
    from harness.context.edits import Edit
    from harness.context.gauge import ContextLimits
    from harness.context.messages import Message
    from harness.models.model import Model, Reply
    from harness.tool import OutputFiles

Write = Callable[[list[tuple[str, dict[str, Any]]]], Awaitable[None]]
SUMMARY_ROLE = "summary"  # in the first line of the system prompt; no role of the team


class Compactor:
    """Makes room in one conversation; what it changes is a line of the journal, so a restart repeats it."""

    def __init__(
        self,
        *,
        model: Model,
        outputs: OutputFiles,
        limits: ContextLimits,
        events: Recorder,
        state: Callable[[], Awaitable[str]],
        on_text: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`state` tells from disk what the agent must not forget: its task, its team, its plan."""
        self._model = model
        self._outputs = outputs
        self._limits = limits.fitting(Capacity())
        self._not_fitted: ContextLimits | None = limits  # until it was asked how much the model takes
        self._events = events
        self._state = state
        self._on_text = on_text
        self._gauge = Gauge()
        self._counted = False  # the server was asked once since nothing is measured
        self._tools: tuple[Sequence[dict[str, Any]], int] = (), 0  # as last weighed, and what they weigh

    def heard(self, reply: Reply, conversation: Conversation, request: ModelRequest) -> None:
        """The reply, not yet in the conversation, says how full the window was."""
        if reply.usage.calls == 1:  # the sum of several says nothing about one
            self._gauge.measure(sent_tokens(reply.usage), self._weight(conversation, request))

    def reply_tokens(self, wanted: int) -> int:
        """How long a reply may be at most."""
        return min(wanted, self._limits.reply_tokens)

    async def make_room(
        self, conversation: Conversation, write: Write, request: ModelRequest, *, urgent: bool = False
    ) -> None:
        """The next request fits, as far as that can be known; `urgent` after the server said it did not."""
        if self._not_fitted:
            limits, self._not_fitted = self._not_fitted, None
            self._limits = limits.fitting(await self._model.capacity(request.model))
        limits = self._limits
        await self._bound(conversation, write, urgent=urgent)
        full = await self._tokens(conversation, request)
        if full > limits.share(limits.shorten_percent):
            await self._trim(conversation, write)
            await self._shorten(conversation, write)
            full = await self._tokens(conversation, request)
        asked = urgent or bool(conversation.summary_asked)
        if asked or (full > limits.share(limits.summarize_percent) and self._is_due(conversation, full)):
            await self._summarize(conversation, write, request, least=asked)

    def _is_due(self, conversation: Conversation, full: int) -> bool:
        """Enough came since the last, or else nothing fits: prompt and tools may fill a small window."""
        grown = conversation.characters - conversation.summed_up
        enough = self._gauge.characters(self._limits.summary_tokens) if conversation.summed_up else 0
        return grown >= enough or full > self._limits.room

    async def _bound(self, conversation: Conversation, write: Write, *, urgent: bool) -> None:
        """What is new fits into its share, and no more images are kept than a server takes."""
        limits = self._limits
        share = self._gauge.characters(limits.share(20 if urgent else 50))
        total, preview = min(limits.new_results_characters, share), limits.preview_characters
        new = edits.bound_new_results(conversation.messages, total=total, preview_characters=preview)
        await self._edit("bound", new, write)
        if not conversation.has_images:
            return
        images, data = limits.kept_images, limits.kept_image_bytes
        old = edits.drop_old_images(conversation.messages, kept=images, kept_bytes=data)
        await self._edit("images", old, write)

    async def _tokens(self, conversation: Conversation, request: ModelRequest) -> int:
        """Tokens of the next request; the server counts them when a guess would not do."""
        weight = self._weight(conversation, request)
        guess = self._gauge.tokens(weight)
        near = guess > self._limits.share(self._limits.shorten_percent) // 2
        if near and not self._gauge.is_measured and not self._counted:
            self._counted = True
            counted = await self._model.count(replace(request, messages=conversation.messages))
            if counted is not None:
                self._gauge.measure(counted, weight)
        return self._gauge.tokens(weight)

    async def _trim(self, conversation: Conversation, write: Write) -> None:
        limits = self._limits
        cut = edits.middle(conversation.messages, kept=limits.kept_messages)
        if cut is None:
            return
        head, tail = cut
        gone = conversation.messages[head:tail]
        where = await self._keep("history", rendered(gone))
        note = f"[{len(gone)} messages were left out here; their whole text is in {where}]"
        await write([("context", {"step": "trim", "head": head, "tail": tail, "note": note})])
        self._events.record("context_trimmed", messages=len(gone), file=str(where))

    async def _shorten(self, conversation: Conversation, write: Write) -> None:
        limits = self._limits
        found = edits.shorten_consumed(conversation.messages, kept=limits.kept_results)
        saved = edits.freed(conversation.messages, found)
        if saved >= self._gauge.characters(limits.share(limits.worthwhile_percent)):
            await self._edit("shorten", found, write)

    async def _edit(self, step: str, found: list[Edit], write: Write) -> None:
        if not found:
            return
        kept = [
            edit.naming(str(await self._keep(edit.call, edit.removed))) if edit.removed else edit
            for edit in found
        ]
        await write([("context", {"step": "edits", "edits": [edit.to_json() for edit in kept]})])
        self._events.record("context_shortened", step=step, blocks=len(kept))

    async def _summarize(
        self, conversation: Conversation, write: Write, request: ModelRequest, *, least: bool
    ) -> None:
        """`least` leaves nothing but the newest part as it is."""
        limits = self._limits
        room = self._gauge.characters(limits.share(limits.kept_percent))
        tail = 0 if least else edits.newest_part(conversation.messages, characters=room)
        tail = tail or edits.newest_part(conversation.messages, characters=0)
        if tail == 0:
            return
        gone = conversation.messages[:tail]
        where = await self._keep("history", rendered(gone))
        text = opening(
            conversation.requests,
            await self._summary(gone, "; ".join(filter(None, conversation.summary_asked)), request),
            request_characters=min(limits.request_characters, self._gauge.characters(limits.share(25))),
            where=str(where),
            state=await self._state(),
        )
        await write([("context", {"step": "summary", "tail": tail, "text": text})])
        self._gauge.forget()
        self._counted = False
        self._events.record("context_summarized", messages=len(gone), file=str(where))

    async def _summary(self, gone: list[Message], focus: str, request: ModelRequest) -> str:
        identity = request.system.partition("\n")[0].partition("name=")[2]
        limits = self._limits
        room = self._gauge.characters(limits.share(75))
        asked = question(abridged(gone, characters=min(limits.summarized_characters, room)), focus)
        call = ModelRequest(
            model=request.model,
            system=f"role={SUMMARY_ROLE} name={identity}\n{RULE}",
            messages=[{"role": "user", "content": [{"type": "text", "text": asked}]}],
            max_tokens=limits.summary_tokens,
        )
        try:
            reply = await self._model.reply(call, lambda _: self._on_text(""))  # a sign of life only
        except NoReply as error:
            self._events.record("summary_failed", error=str(error))
            return FAILED
        usage = asdict(reply.usage)
        self._events.record("model_call", usage=usage, tools=[], model=reply.model, purpose="summary")
        return reply.text or FAILED

    async def _keep(self, name: str, text: str) -> Path:
        return await to_thread.run_sync(self._outputs.write, name or "image", text)

    def _weight(self, conversation: Conversation, request: ModelRequest) -> int:
        if self._tools[0] is not request.tools:
            self._tools = request.tools, size_of(request.tools)
        return conversation.characters + len(request.system) + self._tools[1]
