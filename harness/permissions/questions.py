"""A call put before the person: a request on disk, its answer, or why nobody was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from coordination.approvers import is_somebody_attached
from coordination.protocols import PERSON, Kind
from coordination.records import Verdict
from coordination.requests import AlreadyDecided
from harness.permissions.answers import Answers, persons_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.records import Decision, Request
    from coordination.stores import Stores
    from harness.off_loop import OffLoop
    from harness.permissions.canonical import Question
    from harness.pulse import Pulse

LOOK_SECONDS = 1.0  # between looks where no file event comes


@dataclass(frozen=True)
class Answer:
    """What became of a question."""

    allowed: bool
    reason: str  # approved, denied, denied_before, deadline, nobody_to_ask
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long one waits for a person, and for whose task."""

    deadline_seconds: float
    progress: Callable[[], None]  # a sign of life while it waits
    task: Callable[[], str | None]  # the task that the call is made for


class PersonAsked:
    """Satisfies the `Approver` that the permission gate needs."""

    def __init__(
        self,
        stores: Stores,
        *,
        off_loop: OffLoop,
        pulse: Pulse,
        patience: Patience,
        answers: Answers | None = None,
    ) -> None:
        """`pulse` rings when a request may have its answer; `answers` are those that stand."""
        self._stores = stores
        self._answers = answers or Answers(persons_directory(), stores.team.id)
        self._off_loop = off_loop
        self._pulse = pulse
        self._patience = patience

    async def answer(self, question: Question) -> Answer:
        """The person's word: one that stands, one given now, or none within the deadline.

        Nobody is waited for where no process shows the question to a person. Cancelling withdraws it.
        """
        standing = await self._off_loop(self._answers.to, question.digest)
        if standing and standing.allow and not question.is_fresh:
            return Answer(allowed=True, reason="approved", text=standing.reason)
        if standing and not standing.allow:
            self._stores.events.record(
                "permission_denied_before", tool=question.tool, what=question.shown, answer=standing.id
            )
            return Answer(
                allowed=False,
                reason="denied_before",
                text=f"{standing.by} denied it to {standing.asker.partition('~')[0]} before, for the whole "
                f"team (`leadhand approvals forget {standing.id}` would take that back) {standing.reason}",
            )
        if not await self._off_loop(is_somebody_attached, self._stores.team):
            self._stores.events.record(
                "permission_unasked", tool=question.tool, what=question.shown, why=question.why
            )
            return Answer(allowed=False, reason="nobody_to_ask")
        return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        asked = await self._off_loop(self._put, question)
        try:
            with anyio.move_on_after(self._patience.deadline_seconds):
                return await self._until_decided(asked)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._off_loop(self._withdraw, asked)
            raise
        decision = await self._off_loop(self._withdraw, asked)
        return _in_words(decision, self._patience.deadline_seconds)

    def _put(self, question: Question) -> Request:
        asked = self._stores.requests.ask(
            Kind.PERMISSION,
            question.tool,
            reviewer=PERSON,
            question=f"{question.why}\n\n{question.shown}",
            task=self._patience.task(),
            content_digest=question.digest,
            deadline_seconds=self._patience.deadline_seconds,
        )
        self._stores.events.record(
            "permission_asked", request=asked.id, tool=question.tool, what=question.shown, why=question.why
        )
        return asked

    async def _until_decided(self, asked: Request) -> Answer:
        while True:
            seen = self._pulse.count
            state = await self._off_loop(self._stores.requests.get, asked.id)
            if state.answer:
                return _in_words(state.answer, self._patience.deadline_seconds)
            self._patience.progress()
            await self._pulse.wait(seen, LOOK_SECONDS)

    def _withdraw(self, asked: Request) -> Decision:
        """The question has its answer: its withdrawal, or one that came before."""
        try:
            return self._stores.requests.withdraw(asked.id)
        except AlreadyDecided:
            decision = self._stores.requests.get(asked.id).answer
            assert decision is not None
            return decision


def _in_words(decision: Decision, seconds: float) -> Answer:
    reason = f": {decision.reason}" if decision.reason else ""
    match decision.verdict:
        case Verdict.APPROVE:
            return Answer(allowed=True, reason="approved")
        case Verdict.DENY:
            return Answer(allowed=False, reason="denied", text=f"{decision.by} was asked and said no{reason}")
        case Verdict.WITHDRAW:
            return Answer(
                allowed=False,
                reason="deadline",
                text=f"nobody answered within {seconds:g} s, which counts as no",
            )
