"""Waiting until something changed in a directory of the team: by file events, else by polling."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from watchdog.events import (
    DirCreatedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from coordination import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchdog.observers.api import BaseObserver

    from coordination.team_root import Team

POLL_SECONDS = 0.5
# Opening and reading are left out: a reader would wake itself for ever.
_EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileModifiedEvent, FileMovedEvent, DirCreatedEvent]

logger = logging.getLogger(__name__)


class Wakeup(FileSystemEventHandler):
    """Tells that something may have changed since the last wait ended; what, the caller looks up.

    Make it before the first look. A change during a look ends the next wait at once, so that none
    is lost between looking and waiting. Beats and temporary files wake nobody.
    """

    def __init__(
        self,
        team: Team,
        directories: Sequence[str],
        *,
        observer: Callable[[], BaseObserver] = Observer,
    ) -> None:
        """Watches these directories of the team, and what is or comes below them."""
        self._changed = threading.Event()
        self._closed = False
        for directory in directories:
            team.directory.make(directory)
        paths = [str(team.root / directory) for directory in directories]
        self._observer = self._observe(observer, paths)

    @property
    def by_events(self) -> bool:
        """False when the system gives no events (too many watches, a watched directory removed)."""
        emitters = self._observer.emitters if self._observer else ()
        return bool(emitters) and all(emitter.is_alive() for emitter in emitters)

    def wait(self, timeout: float) -> bool:
        """Block this thread until it is worth to look again: True; False after `timeout` seconds.

        Without events it is worth a look every `POLL_SECONDS`.
        """
        polling = not self.by_events
        changed = self._changed.wait(min(timeout, POLL_SECONDS) if polling else timeout)
        if changed:  # after a time-out it may have been set this moment, for the next wait
            self._changed.clear()
        return not self._closed and (changed or (polling and timeout >= POLL_SECONDS))

    def wake(self) -> None:
        """End the present wait, or the next one, from any thread."""
        self._changed.set()

    def close(self) -> None:
        """No thread is left; a waiter returns at once."""
        self._closed = True
        self._changed.set()
        if self._observer is not None:
            _stop(self._observer)

    def on_any_event(self, event: FileSystemEvent) -> None:
        path = str(event.dest_path or event.src_path)
        if not path.endswith(".beat") and f"/{layout.TEMPORARY}" not in path:
            self._changed.set()

    def _observe(self, made: Callable[[], BaseObserver], paths: Sequence[str]) -> BaseObserver | None:
        observer = None
        try:
            observer = made()
            for path in paths:
                observer.schedule(self, path, recursive=True, event_filter=_EVENTS)
            observer.start()
        except OSError as error:
            logger.warning("no file events (%s): polling instead", error, extra={"action": "polling"})
            if observer is not None:
                _stop(observer)
            return None
        return observer


def _stop(observer: BaseObserver) -> None:
    started = observer.is_alive()
    observer.stop()  # also ends the threads that an observer has before its start
    if started:
        observer.join()
