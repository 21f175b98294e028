"""The thread that shows that this process lives, as long as its loop gets on."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from coordination.errors import TeamError

if TYPE_CHECKING:
    from coordination.clock import Clock
    from coordination.liveness import Beat

BEATS_PER_TTL = 6  # DESIGN 5: one every TTL/6

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Beats every TTL/6 while checkpoints come; a hung loop loses its task like a dead one.

    An operating system thread, because the event loop may be the thing that hangs.
    """

    def __init__(
        self, beat: Beat, clock: Clock, *, ttl_seconds: float, progress_timeout_seconds: float
    ) -> None:
        self._beat = beat
        self._clock = clock
        self._interval = ttl_seconds / BEATS_PER_TTL
        self._patience = progress_timeout_seconds
        self._task: str | None = None
        self._token: int | None = None
        self._progress = clock.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease-keeper", daemon=True)

    def start(self) -> None:
        """The first beat is on disk; further ones follow."""
        self._beat_once()
        self._thread.start()

    def checkpoint(self) -> None:
        """The loop got on: a model event, tool output, the begin of a wait that has a deadline."""
        self._progress = self._clock.monotonic()

    def holds(self, task: str | None, token: int | None) -> None:
        """What the beat says of the member's task, as a hint to observers."""
        self._task, self._token = task, token
        self.checkpoint()
        self._beat_once()

    def close(self) -> None:
        """No further beat."""
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stop.wait(self._interval):
            if self._clock.monotonic() - self._progress < self._patience:
                self._beat_once()

    def _beat_once(self) -> None:
        try:
            self._beat.beat(self._task, self._token)
        except TeamError as error:
            logger.warning("no beat: %s", error, extra={"action": "beat_failed"})
