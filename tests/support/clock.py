"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Satisfies `coordination.clock.Clock`; sleeping moves it."""

    def __init__(self) -> None:
        self._wall = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self._seconds = 1000.0

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def jump(self, seconds: float) -> None:
        """Somebody set the wall clock; no time passed."""
        self._wall += timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        self._wall += timedelta(seconds=seconds)
        self._seconds += seconds
