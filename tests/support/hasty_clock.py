"""A clock on which each pause takes seconds, so that a long patience costs few tries."""

from __future__ import annotations

from tests.support.clock import FakeClock


class HastyClock(FakeClock):
    """Satisfies `coordination.clock.Clock`."""

    def sleep(self, seconds: float) -> None:
        super().sleep(max(seconds, 4))
