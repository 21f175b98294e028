"""What becomes of one turn: how it ended, and the account of it while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from coordination.usage import Usage

if TYPE_CHECKING:
    from coordination.errors import TeamError
    from harness.models.model import Reply


class Ended(StrEnum):
    """How a turn ended."""

    DONE = "done"  # nothing left to call, or a tool that ends the turn
    STOPPED = "stopped"  # the process was asked to stop
    LIMIT = "limit"  # rounds
    GAVE_UP = "gave_up"  # the model gave no reply


@dataclass(frozen=True, kw_only=True)
class TurnOutcome:
    """What became of a turn."""

    text: str  # the last words of the model
    said: tuple[str, ...] = ()  # all of them, in order
    rounds: int
    usage: Usage
    ended: Ended
    why: str = ""
    error: TeamError | None = None  # what the model failed with, when the turn gave up


class Turn:
    """The running account of one turn."""

    def __init__(self) -> None:
        self.rounds = 0
        self.continuations = 0
        self.vetoes = 0  # of hooks, to its end
        self._usage = Usage()
        self._said: list[str] = []

    def add(self, reply: Reply) -> None:
        self.rounds += 1
        self._usage += reply.usage
        self._said += [reply.text] if reply.text else []

    def outcome(self, ended: Ended, why: str = "", error: TeamError | None = None) -> TurnOutcome:
        return TurnOutcome(
            text=self._said[-1] if self._said else "",
            said=tuple(self._said),
            rounds=self.rounds,
            usage=self._usage,
            ended=ended,
            why=why,
            error=error,
        )
