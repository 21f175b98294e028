"""Plans that the lead's model has to decide: it is reminded of one it forgot, then a person is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.protocols import LEAD, Kind
from orchestrator.inspection.status import open_questions

if TYPE_CHECKING:
    from coordination.records import Message, Request
    from coordination.stores import Stores


class PlansOfLead:
    """What this lead was told of; an author that waits makes no model call, so it would wait for ever."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._told = {plan.id for plan in self._open()}  # to an earlier lead
        self._reminded: set[str] = set()

    def heard(self, message: Message) -> None:
        """The model was told of a plan, if the message is about one."""
        self._told.add(str(message.metadata.get("request")))

    def forgotten(self) -> list[Request]:
        """The open plans that a turn of the model left undecided, each once."""
        plans = [plan for plan in self._open() if plan.id in self._told - self._reminded]
        self._reminded |= {plan.id for plan in plans}
        return plans

    def left(self) -> set[str]:
        """The tasks whose plans are undecided although the model was reminded."""
        return {plan.task for plan in self._open() if plan.task and plan.id in self._reminded}

    def _open(self) -> list[Request]:
        plans = [asked.question for asked in open_questions(self._stores) if asked.question.kind == Kind.PLAN]
        return [plan for plan in plans if plan.reviewer == LEAD]
