"""Something happened: a signal that every waiter of the event loop gets."""

from __future__ import annotations

import anyio


class Pulse:
    """Counts beats, so that one between looking and waiting is not lost."""

    def __init__(self) -> None:
        self.count = 0
        self._next = anyio.Event()

    def ring(self) -> None:
        """Everybody who waits goes on."""
        self.count += 1
        self._next.set()
        self._next = anyio.Event()

    async def wait(self, since: int, timeout_seconds: float) -> None:
        """Return once there was a beat after `since`, or the time is over."""
        if self.count == since:
            with anyio.move_on_after(timeout_seconds):
                await self._next.wait()
