"""Waiting until something changed in a directory of the team: by file events, else by polling."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import NotRegularFile, StateUnreadable
from coordination.file_events import FileEvents, NoEvents, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from coordination.team_root import Team

POLL_SECONDS = (0.2, 2.0)  # at first, and at most while nothing new is to be seen
_SLOWER = 1.5  # after each look in vain

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
        self._team = team
        self._directories = tuple(directories)
        self._seen: list[tuple[str, int]] = []
        self._pause = POLL_SECONDS[0]
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
        """False when the system does not tell of every change.

        Other hosts have the directory too, there are too many watches, a watched directory was removed.
        """
        return self._team.mount.guarantees.events and self._events.is_whole

    def wait(self, timeout: float) -> bool:
        """Block this thread until it is worth to look again: True; False after `timeout` seconds.

        Without events it is worth a look every `POLL_SECONDS`, the seldomer the longer nothing was new.
        """
        if self._closed:
            return False
        if self.by_events:
            return self._events.wait(timeout) and not self._closed
        pause = self._pause
        changed = self._events.wait(min(timeout, pause)) or self._has_news()
        self._pause = POLL_SECONDS[0] if changed else min(pause * _SLOWER, POLL_SECONDS[1])
        return not self._closed and (changed or timeout >= pause)

    def _has_news(self) -> bool:
        """Whether the watched directories hold other names, or mail has grown; below them is not seen."""
        seen = [found for directory in self._directories for found in self._glance(directory)]
        before, self._seen = self._seen, seen
        return before != seen

    def _glance(self, directory: str) -> Iterator[tuple[str, int]]:
        try:
            names = sorted(self._team.directory.names(directory))
        except StateUnreadable:  # the look that follows will say so
            return
        for name in filter(_matters, names):
            yield f"{directory}/{name}", self._size(f"{directory}/{name}") if name.endswith(".jsonl") else 0

    def _size(self, name: str) -> int:
        try:
            return self._team.directory.read_from(name, 0, 0)[1]
        except (OSError, NotRegularFile):
            return 0

    def wake(self) -> None:
        """End the present wait, or the next one, from any thread."""
        self._events.wake()

    def close(self) -> None:
        """No thread is left; a waiter returns at once."""
        self._closed = True
        self._events.close()


def _matters(name: str) -> bool:
    return not name.endswith(".beat") and not name.startswith(layout.TEMPORARY)
