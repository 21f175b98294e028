"""Whom a teammate has asked something, and whether it is worth to wait for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_worker.assignment import NO_ANSWER_NEEDED
from agent_worker.waiting import awaits_answer_of, circle
from coordination.mail.bearers import LEAD
from coordination.records import MemberState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordination.records import Message
    from coordination.stores import Stores
    from harness.context.messages import Message as Said
    from harness.off_loop import OffLoop

THERE = frozenset({MemberState.STARTING, MemberState.ALIVE})


class Asking:
    """The last question of the model, as long as nobody has written since."""

    def __init__(self, stores: Stores, off_loop: OffLoop, *, me: str) -> None:
        """`me` is the name of the teammate."""
        self._stores = stores
        self._off_loop = off_loop
        self._me = me
        self._told: set[str] = set()
        self.of = ""  # whom the model asked
        self.why_not = ""  # no answer can come, for the model; empty where there is nothing to say

    def sent(self, to: str) -> None:
        """The model wrote to somebody."""
        self.of, self.why_not = to, ""

    def heard(self, message: Message) -> None:
        """Somebody wrote to the model."""
        if message.type not in NO_ANSWER_NEEDED:
            self.of = ""

    def take_up(self, said: Iterable[Said]) -> None:
        """The conversation of an earlier process goes on."""
        self.of = awaits_answer_of(said)

    async def may_be_answered(self) -> bool:
        """True when somebody is there who may answer; a circle in which all would wait is told the lead."""
        return bool(self.of) and await self._off_loop(self._may_be_answered)

    def _may_be_answered(self) -> bool:
        if self.of == LEAD:  # in a run whose tasks a person wrote no model leads
            run = self._stores.runs.open_run()
            return run is not None and not run.planned
        there = {member.name: member for member in self._stores.roster.all() if member.state in THERE}
        if self.of not in there:
            return False
        waits = {name: member.waiting_on or "" for name, member in there.items()}
        around = circle(self._me, self.of, waits)
        if around:
            self._tell(" > ".join([*around, self._me]))
        return not around

    def _tell(self, members: str) -> None:
        self.why_not = f"[You would wait for each other] {members}; answer, or go on without an answer.\n"
        if members not in self._told:
            self._told.add(members)
            self._stores.events.record("waits_in_circle", members=members)
            text = f"{members} would wait for answers of each other; {self._me} goes on without"
            self._stores.outbox.send(LEAD, text, type="waits_in_circle")
