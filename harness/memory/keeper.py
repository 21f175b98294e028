"""The memory as one agent has it: recalled with each request, added to at the end of a turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import move_on_after, to_thread
from msgspec.structs import asdict

from coordination.clock import iso
from coordination.errors import LinkInTheWay, StateUnreadable, StateUnwritable
from harness.context.conversation import REQUEST_KIND
from harness.loop import Incoming
from harness.memory import consolidation, extraction
from harness.memory.credentials import redacted
from harness.memory.recall import block, chosen, mark_of
from harness.memory.store import Look
from harness.models.model import ModelRequest, NoReply
from harness.turn import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from coordination.clock import Clock
    from coordination.events import Recorder
    from harness.context.conversation import Conversation
    from harness.memory.extraction import Draft
    from harness.memory.record import Note
    from harness.memory.settings import MemorySettings
    from harness.memory.store import MemoryStore
    from harness.models.model import Model
    from harness.turn import TurnOutcome

KIND = "memory"  # of the lines of a journal that hold what was recalled
REPLY_TOKENS = 2000  # of one answer about the memory
PATIENCE_SECONDS = 30.0  # for that answer; nobody's work waits longer for it
FAILURES = (NoReply, extraction.NoProposals, StateUnwritable, StateUnreadable, LinkInTheWay)
WORTH_ASKING = frozenset({Ended.DONE, Ended.LIMIT})  # a turn that was stopped or got no reply has no end


@dataclass(frozen=True, kw_only=True)
class Rememberer:
    """Who remembers."""

    bearer: str  # the process (`alice~7`)
    model: str  # which is asked about the memory
    leads: bool  # the person speaks to it, and it keeps the memory in order
    work: Callable[[], Mapping[str, str | None]]  # run and task of this moment
    secrets: Sequence[str] = ()  # values that belong into no file
    on_text: Callable[[], None] = lambda: None  # told of each sign of life of the model


class MemoryKeeper:
    """Asked by the loop; what goes wrong here is told in an event and stops nobody."""

    def __init__(
        self,
        store: MemoryStore,
        model: Model,
        who: Rememberer,
        *,
        settings: MemorySettings,
        events: Recorder,
        clock: Clock,
    ) -> None:
        self._store = store
        self._model = model
        self._who = who
        self._settings = settings
        self._events = events
        self._clock = clock
        self._said: list[str] = []  # since a model was last asked about it
        self._told: set[tuple[str, str]] = set()  # files that cannot be used, and why
        self._weight = 0  # characters of it that may hold something new

    async def recall(self, incoming: Sequence[Incoming], conversation: Conversation) -> list[Incoming]:
        """What the memory has on requests among what arrived, to be put behind them."""
        requests = [each.text for each in incoming if _is_request(each)]
        for text in requests:
            self._hear(f"request: {text}", weighs=self._who.leads)
        if not requests or not self._settings.memory_recall_records:
            return []
        look = await self._look()
        found = chosen(
            "\n".join(requests),
            look.records,
            besides=conversation.recalled,
            number=self._settings.memory_recall_records,
            characters=self._settings.memory_recall_characters,
        )
        if not found:
            return []
        ids = [record.id for record in found]
        self._events.record("memory_recalled", records=ids)
        mark = {"untrusted": why} if (why := mark_of(found)) else {}
        return [Incoming(text=block(found, self._who.secrets), kind=KIND, journal={"records": ids, **mark})]

    async def turn_over(self, outcome: TurnOutcome, conversation: Conversation) -> None:
        """What of the turn is worth it is remembered; a lead then puts the memory in order."""
        for text in outcome.said:
            self._hear(f"agent: {text}", weighs=True)
        is_due = self._weight >= self._settings.memory_least_characters and outcome.ended in WORTH_ASKING
        if not self._settings.memory_extract or not is_due:
            return
        said, self._said, self._weight = self._said, [], 0
        with move_on_after(PATIENCE_SECONDS) as scope:
            try:
                await self._extract(said, conversation.untrusted)
                if self._who.leads:
                    await self._consolidate()
            except FAILURES as error:
                self._events.record("memory_failed", error=str(error))
        if scope.cancelled_caught:
            self._events.record("memory_failed", error=f"no answer within {PATIENCE_SECONDS:g} s")

    def _hear(self, text: str, *, weighs: bool) -> None:
        self._said.append(text)
        self._weight += len(text) if weighs else 0

    async def _extract(self, said: Sequence[str], untrusted: str) -> None:
        known = (await self._look()).records
        asked = extraction.question(said, known, self._settings.memory_shown_characters)
        for draft in (await self._ask(extraction.RULE, asked))[: extraction.MOST]:
            await self._keep(replace(draft.note(), untrusted=untrusted))

    async def _keep(self, note: Note) -> None:
        look = await self._look()
        note = self._signed(note)
        why = extraction.refusal(note, look.records, characters=self._settings.memory_record_characters)
        if why is None and self._is_full(look, note):
            why = "the memory is full; `leadhand memory forget` makes room, or raise memory.records"
        if why:
            self._events.record("memory_refused", name=note.name, why=why)
            return
        record = await to_thread.run_sync(self._store.add, note)
        self._events.record("memory_stored", record=record.id, type=str(note.kind))

    def _is_full(self, look: Look, note: Note) -> bool:
        is_full = len(look.records) >= self._settings.memory_records
        return is_full or look.characters + note.size > self._settings.memory_characters

    async def _consolidate(self) -> None:
        """What has gathered since the last time is merged where it belongs together."""
        look = await self._look()
        if look.replaced:  # a lead before this one had no time for it
            await to_thread.run_sync(self._store.put_away, look.replaced)
        seen = await to_thread.run_sync(lambda: self._store.consolidated)
        new = [record for record in look.records if record.file not in seen and not record.is_by_hand]
        if len(new) < self._settings.memory_consolidate_from:
            return
        shown = consolidation.shown([*new, *(record for record in look.records if record not in new)])
        proposed = await self._ask(consolidation.RULE, consolidation.question(shown))
        limit = self._settings.memory_record_characters
        for merge in consolidation.merges(proposed, shown, characters=limit):
            merged = await to_thread.run_sync(self._store.merge, self._signed(merge.note), merge.sources)
            if merged:
                sources = [source.id for source in merge.sources]
                self._events.record("memory_merged", record=merged.id, sources=sources)
        looked_at = {record.file for record in shown} | seen
        left = (await self._look()).records
        done = [record for record in left if record.file in looked_at or record.note.replaces]
        await to_thread.run_sync(self._store.note_consolidated, done)

    async def _ask(self, rule: str, asked: str) -> list[Draft]:
        """The records that the model proposes. Raises NoReply, NoProposals."""
        request = ModelRequest(
            model=self._who.model,
            system=f"role={extraction.ROLE} name={self._who.bearer.partition('~')[0]} task=none\n{rule}",
            messages=[{"role": "user", "content": [{"type": "text", "text": asked}]}],
            max_tokens=REPLY_TOKENS,
        )
        reply = await self._model.reply(request, lambda _: self._who.on_text())
        usage = asdict(reply.usage)
        self._events.record("model_call", usage=usage, tools=[], model=reply.model, purpose="memory")
        return extraction.drafts(reply.text)

    def _signed(self, note: Note) -> Note:
        """The note with where it comes from, and without what belongs into no file."""
        work = {name: value for name, value in self._who.work().items() if value}
        clean = partial(redacted, values=self._who.secrets)
        return replace(
            note,
            name=clean(note.name),
            description=clean(note.description),
            body=clean(note.body),
            made_by=self._who.bearer,
            made_at=iso(self._clock.now()),
            run=work.get("run", ""),
            task=work.get("task", ""),
        )

    async def _look(self) -> Look:
        try:
            look = await to_thread.run_sync(self._store.look)
        except StateUnreadable as error:
            self._events.record("memory_failed", error=str(error))
            return Look()
        for unusable in look.unusable:
            if (known := (unusable.file, unusable.why)) not in self._told:
                self._told.add(known)
                self._events.record("memory_unusable", file=unusable.file, why=unusable.why)
        return look


def _is_request(item: Incoming) -> bool:
    return REQUEST_KIND in {item.kind, item.journal.get("rank")}
