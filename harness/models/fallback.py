"""Which model is asked: the first one, or for a while another when the first is overloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.models.model import ModelBusy

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.models.model import NoReply

OVERLOADS = 2  # in a row; then the fallback is asked
BACK_AFTER_SECONDS = 600.0


class ModelChoice:
    """Remembers overloads of the first model, and for how long the fallback stands in for it."""

    def __init__(self, fallback: str | None, now: Callable[[], float]) -> None:
        """`now` is a clock in seconds."""
        self._fallback = fallback
        self._now = now
        self._overloads = 0
        self._back_at = 0.0  # of the clock

    def of(self, first: str) -> str:
        """The model to ask, where `first` is wanted."""
        return self._fallback if self._fallback and self._now() < self._back_at else first

    def failed(self, error: NoReply) -> bool:
        """True when this failure is the one after which the fallback stands in."""
        overloaded = isinstance(error, ModelBusy) and error.overloaded
        self._overloads = self._overloads + 1 if overloaded else 0
        if self._fallback is None or self._overloads < OVERLOADS or self._now() < self._back_at:
            return False
        self._overloads = 0
        self._back_at = self._now() + BACK_AFTER_SECONDS
        return True

    def answered(self) -> None:
        """A reply came, so that overloads are counted anew."""
        self._overloads = 0
