"""Whom a teammate has asked something, whether it is worth to wait for an answer, and whom it owes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_worker.assignment import ANSWERS_NOTHING, NO_ANSWER_NEEDED
from agent_worker.waiting import awaits_answer_of, circle
from coordination.mail.bearers import LEAD
from coordination.mail.lines import NO_ANSWER, sender_name
from coordination.records import MemberState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coordination.records import Member, Message
    from coordination.stores import Stores
    from harness.context.messages import Message as Said
    from harness.off_loop import OffLoop

THERE = frozenset({MemberState.STARTING, MemberState.ALIVE})


class Asking:
    """Whom the model asked last, until somebody writes; who wrote to it, until it writes back."""

    def __init__(self, stores: Stores, off_loop: OffLoop, *, me: str) -> None:
        """`me` is the name of the teammate."""
        self._stores = stores
        self._off_loop = off_loop
        self._me = me
        self._told: set[str] = set()
        self._owed: set[str] = set()  # who may wait for an answer of the model
        self.of = ""  # whom the model asked
        self.why_not = ""  # no answer can come, for the model; empty where there is nothing to say

    def sent(self, to: str) -> None:
        """The model wrote to somebody."""
        self.of, self.why_not = to, ""
        self._owed.discard(to)

    def heard(self, message: Message) -> None:
        """Somebody wrote to the model."""
        if message.type not in NO_ANSWER_NEEDED:
            self._owed.add(sender_name(message.sender))
        if message.type not in ANSWERS_NOTHING:
            self.of = ""

    def take_up(self, said: Iterable[Said]) -> None:
        """The conversation of an earlier process goes on."""
        self.of = awaits_answer_of(said)

    async def may_be_answered(self) -> bool:
        """True when somebody is there who may answer; a circle in which all would wait is told the lead."""
        return bool(self.of) and await self._off_loop(self._may_be_answered)

    def _may_be_answered(self) -> bool:
        there = self._there()
        if not self._can_answer(there):
            return False
        waits = {name: member.waiting_on or "" for name, member in there.items()}
        around = circle(self._me, self.of, waits)
        if around:
            self._tell(" > ".join([*around, self._me]))
        return not around

    def _can_answer(self, there: Mapping[str, Member]) -> bool:
        if self.of == LEAD:  # in a run whose tasks a person wrote no model leads
            run = self._stores.runs.open_run()
            return run is not None and not run.planned
        return self.of in there

    def _there(self) -> dict[str, Member]:
        return {member.name: member for member in self._stores.roster.all() if member.state in THERE}

    async def settle_up(self) -> None:
        """No teammate waits for an answer that the model did not give, unless it waits for one itself."""
        if self._owed:
            await self._off_loop(self._settle_up)

    def _settle_up(self) -> None:
        there = self._there()
        if self._can_answer(there):
            return
        for name in self._owed & there.keys():
            text = f"{self._me} has read what you wrote and is done with it, without an answer"
            self._stores.outbox.send(name, text, type=NO_ANSWER)
        self._owed.clear()

    def _tell(self, members: str) -> None:
        self.why_not = f"[You would wait for each other] {members}; answer, or go on without an answer.\n"
        if members not in self._told:
            self._told.add(members)
            self._stores.events.record("waits_in_circle", members=members)
            text = f"{members} would wait for answers of each other; {self._me} goes on without"
            self._stores.outbox.send(LEAD, text, type="waits_in_circle")
