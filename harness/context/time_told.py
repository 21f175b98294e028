"""The time, as a model is told it with all that arrives: once while it stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordination.clock import local
from harness.context.conversation import TIME_KIND, TIME_TEXT

if TYPE_CHECKING:
    from coordination.clock import Clock


class TimeTold:
    """What a clock on the wall shows to one conversation; without a clock nothing."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._told = ""

    def news(self) -> list[tuple[str, dict[str, Any]]]:
        """The line of the journal that tells the time, unless it is the same as before."""
        before, self._told = self._told, local(self._clock.now()) if self._clock else ""
        return [] if self._told == before else [(TIME_KIND, {"text": TIME_TEXT.format(self._told)})]

    def forget(self) -> None:
        """What was told is no longer in the conversation."""
        self._told = ""
