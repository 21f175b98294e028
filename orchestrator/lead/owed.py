"""What the lead's model owes its teammates: it is reminded once of what it forgot, for they wait idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.mail.lines import sender_name
from coordination.protocols import LEAD, Kind, answer_of
from orchestrator.inspection.status import open_questions

if TYPE_CHECKING:
    from coordination.records import Message, Request
    from coordination.stores import Stores


class Owed:
    """Decisions on plans, and answers; who waits for one makes no model call, so it would wait for ever."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._told = {plan.id for plan in self._open()}  # to an earlier lead
        self._reminded: set[str] = set()
        self._unanswered: set[str] = set()  # who wrote since the model last wrote to it

    def heard(self, message: Message) -> None:
        """The model was told of a plan, if the message is about one; its author may wait for an answer."""
        self._told.add(str(message.metadata.get("request")))
        if message.type == "message":
            self._unanswered.add(sender_name(message.sender))

    def sent(self, to: str) -> None:
        """The model wrote to somebody."""
        self._unanswered.discard(to)

    def plans(self) -> list[Request]:
        """The open plans that a turn of the model left undecided, each once."""
        plans = [plan for plan in self._open() if plan.id in self._told - self._reminded]
        self._reminded |= {plan.id for plan in plans}
        return plans

    def answers(self) -> list[str]:
        """The teammates that wait for an answer which a turn of the model did not give, each once."""
        waiting = {of.name for of in self._stores.roster.all() if of.waiting_on == answer_of(LEAD)}
        names = sorted(self._unanswered & waiting)
        self._unanswered.difference_update(names)
        return names

    def left(self) -> set[str]:
        """The tasks whose plans are undecided although the model was reminded."""
        return {plan.task for plan in self._open() if plan.task and plan.id in self._reminded}

    def _open(self) -> list[Request]:
        plans = [asked.question for asked in open_questions(self._stores) if asked.question.kind == Kind.PLAN]
        return [plan for plan in plans if plan.reviewer == LEAD]
