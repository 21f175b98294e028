"""Waiting until something changed in a directory of the team: by file events, else by polling."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from coordination import layout
from coordination.file_events import FileEvents, NoEvents, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.team_root import Team

POLL_SECONDS = 0.5

logger = logging.getLogger(__name__)


class Wakeup:
    """Tells that something may have changed since the last wait ended; what, the caller looks up.

    Make it before the first look. A change during a look ends the next wait at once, so that none
    is lost between looking and waiting. Beats and temporary files wake nobody.
    """

    def __init__(
        self,
        team: Team,
        directories: Sequence[str],
        *,
        watched_by: Callable[[Sequence[str], Callable[[str], bool]], FileEvents] = watch,
    ) -> None:
        """Watches these directories of the team, and what is or comes below them."""
        self._closed = False
        for directory in directories:
            team.directory.make(directory)
        paths = [str(team.root / directory) for directory in directories]
        try:
            self._events = watched_by(paths, _matters)
        except OSError as error:
            logger.warning("no file events (%s): polling instead", error, extra={"action": "polling"})
            self._events = NoEvents()

    @property
    def by_events(self) -> bool:
        """False when the system gives no events (too many watches, a watched directory removed)."""
        return self._events.is_whole

    def wait(self, timeout: float) -> bool:
        """Block this thread until it is worth to look again: True; False after `timeout` seconds.

        Without events it is worth a look every `POLL_SECONDS`.
        """
        if self._closed:
            return False
        polling = not self.by_events
        changed = self._events.wait(min(timeout, POLL_SECONDS) if polling else timeout)
        return not self._closed and (changed or (polling and timeout >= POLL_SECONDS))

    def wake(self) -> None:
        """End the present wait, or the next one, from any thread."""
        self._events.wake()

    def close(self) -> None:
        """No thread is left; a waiter returns at once."""
        self._closed = True
        self._events.close()


def _matters(name: str) -> bool:
    return not name.endswith(".beat") and not name.startswith(layout.TEMPORARY)
