"""The thread that shows that this process lives, and that ends its tools once the task is lost."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from coordination.child import RunningGroups
from coordination.errors import TeamError
from coordination.liveness import LOOKS_PER_TTL, has_lost_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.clock import Clock
    from coordination.liveness import Beat
    from coordination.profile import Ttl

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Beats every TTL/6 while checkpoints come; a hung loop loses its task like a dead one.

    An operating system thread, because the event loop may be the thing that hangs.
    """

    def __init__(
        self,
        beat: Beat,
        clock: Clock,
        *,
        ttl: Ttl,
        progress_timeout_seconds: float,
        is_held: Callable[[str, int], bool],
    ) -> None:
        """`is_held` looks whether the task still has that token; only the thread of the keeper asks."""
        self.groups = RunningGroups()
        self._beat = beat
        self._clock = clock
        self._ttl = ttl
        self._patience = progress_timeout_seconds
        self._is_held = is_held
        self._lease: tuple[str, int] | None = None
        self._lost: tuple[str, int] | None = None
        self._has_lost_all = False
        self._progress = clock.monotonic()
        self._one_beats = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease-keeper", daemon=True)

    @property
    def interval(self) -> float:
        """Seconds between two beats."""
        return self._ttl() / LOOKS_PER_TTL

    @property
    def is_lost(self) -> bool:
        """True once the present task is known to be somebody else's, or the team out of reach."""
        return self._has_lost_all or (self._lease is not None and self._lost == self._lease)

    @property
    def is_on_time(self) -> bool:
        """False while this process has to doubt that others take it for alive."""
        return not self._beat.is_late(self._ttl())

    def start(self) -> None:
        """The first beat is on disk; further ones follow."""
        self._beat_once()
        self._thread.start()

    def checkpoint(self) -> None:
        """The loop got on: a model event, tool output, the begin of a wait that has a deadline."""
        self._progress = self._clock.monotonic()

    def holds(self, task: str | None, token: int | None) -> None:
        """What the keeper looks after, and the beat tells people, from now on."""
        self._lease = (task, token) if task is not None and token is not None else None
        self.checkpoint()
        self._beat_once()

    def loses(self, task: str, token: int | None) -> None:
        """The task was seen to be lost: what runs for it is ended at the next beat."""
        self._lost = (task, token or 0)

    def renew(self) -> bool:
        """A holder that doubts has beaten again: only then its token proves anything. False: it could not."""
        if not self.is_on_time:
            self._beat_once()
        return self.is_on_time and not self._has_lost_all

    def close(self) -> None:
        """No further beat."""
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stop.wait(self.interval):
            if self._clock.monotonic() - self._progress < self._patience:
                self._beat_once()
            self._look()

    def _look(self) -> None:
        lease = self._lease
        if lease and not self.is_lost and not self._still_held(*lease):
            self.loses(*lease)
        if self.is_lost and self.groups.kill():
            logger.warning("the lease is lost, its tools were ended", extra={"action": "tools_ended"})

    def _still_held(self, task: str, token: int) -> bool:
        try:
            return self._is_held(task, token)
        except TeamError as error:
            self._judge(error)
            return True  # unless all is lost, the next look may tell

    def _beat_once(self) -> None:
        task, token = self._lease or (None, None)
        try:
            with self._one_beats:
                self._beat.beat(task, token)
        except TeamError as error:
            self._judge(error)
            logger.warning("no beat: %s", error, extra={"action": "beat_failed"})

    def _judge(self, error: TeamError) -> None:
        self._has_lost_all = self._has_lost_all or has_lost_all(error)
