"""Who tells of changes below directories: inotify by the shortest way, elsewhere what the system has."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from watchdog.events import (
    DirCreatedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from coordination.clock import SystemClock

if sys.platform == "linux":
    from watchdog.observers.inotify_c import InotifyConstants, inotify_add_watch, inotify_init

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Opening and reading are left out: a reader would wake itself for ever.
_EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileModifiedEvent, FileMovedEvent, DirCreatedEvent]
_BUFFER_BYTES = 1 << 16  # some thousand events


class FileEvents(Protocol):
    """Directories that are watched, with what is or comes below them."""

    @property
    def is_whole(self) -> bool:
        """False once one of the directories is known to be watched no more."""
        ...

    def wait(self, timeout: float) -> bool:
        """True once something that matters is new or changed since the last wait, or somebody woke it.

        False after `timeout` seconds.
        """
        ...

    def wake(self) -> None:
        """End the present wait, or the next one, from any thread."""
        ...

    def close(self) -> None:
        """A waiter returns at once, and no thread is left."""
        ...


def watch(paths: Sequence[str], matters: Callable[[str], bool]) -> FileEvents:
    """From now on a new or changed file below these directories ends a wait if its name `matters`.

    Raises OSError where the system gives no events (too many watches).
    """
    return ByInotify(paths, matters) if sys.platform == "linux" else ByObserver(paths, matters)


class NoEvents:
    """The system tells of nothing: only `wake` ends a wait before its time."""

    def __init__(self) -> None:
        self._told = threading.Event()

    @property
    def is_whole(self) -> bool:
        return False

    def wait(self, timeout: float) -> bool:
        told = self._told.wait(timeout)
        if told:  # after a time-out it may have been set this moment, for the next wait
            self._told.clear()
        return told

    def wake(self) -> None:
        self._told.set()

    def close(self) -> None:
        self.wake()


class ByObserver(NoEvents, FileSystemEventHandler):
    """The observer of whatever system; on Linux its three threads would triple the time to a wake-up."""

    def __init__(self, paths: Sequence[str], matters: Callable[[str], bool]) -> None:
        """As `watch`."""
        super().__init__()
        self._matters = matters
        self._observer = Observer()
        try:
            for path in paths:
                self._observer.schedule(self, path, recursive=True, event_filter=_EVENTS)
            self._observer.start()
        except OSError:
            self._observer.stop()  # also ends the threads that it has before its start
            raise

    @property
    def is_whole(self) -> bool:
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)

    def close(self) -> None:
        super().close()
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called by the observer."""
        if self._matters(os.path.basename(os.fsdecode(event.dest_path or event.src_path))):  # noqa: PTH119
            self.wake()


if sys.platform == "linux":

    class ByInotify:
        """The waiting thread reads the events itself; while nobody waits, the kernel keeps them."""

        _MASK = (
            InotifyConstants.IN_CREATE
            | InotifyConstants.IN_MODIFY
            | InotifyConstants.IN_MOVED_TO
            | InotifyConstants.IN_ONLYDIR
            | InotifyConstants.IN_DONT_FOLLOW
        )

        def __init__(self, paths: Sequence[str], matters: Callable[[str], bool]) -> None:
            """As `watch`."""
            self._matters = matters
            self._clock = SystemClock()
            self._paths: dict[int, bytes] = {}  # by watch
            self._closed = False
            self._ringing, self._waiting = threading.Lock(), threading.Lock()
            self._events = _checked(inotify_init())
            os.set_inheritable(self._events, False)
            self._bell = os.eventfd(0)
            self._poll = select.poll()
            for descriptor in (self._events, self._bell):
                self._poll.register(descriptor, select.POLLIN)
            try:
                self._roots = {self._add(os.fsencode(path)) for path in paths}
            except OSError:
                self.close()
                raise

        @property
        def is_whole(self) -> bool:
            return self._roots <= self._paths.keys()

        def wait(self, timeout: float) -> bool:
            end = self._clock.monotonic() + timeout
            with self._waiting:
                while not self._closed:
                    ready = self._poll.poll(1e3 * max(0.0, end - self._clock.monotonic()))
                    if not ready:
                        return False
                    if self._has_news([descriptor for descriptor, _ in ready]):
                        return True
            return False

        def wake(self) -> None:
            with self._ringing:
                if not self._closed:
                    os.eventfd_write(self._bell, 1)

        def close(self) -> None:
            with self._ringing:
                if self._closed:
                    return
                self._closed = True
                os.eventfd_write(self._bell, 1)
            with self._waiting:
                os.close(self._events)
                os.close(self._bell)

        def _has_news(self, ready: Sequence[int]) -> bool:
            if self._events in ready:
                events = _parsed(os.read(self._events, _BUFFER_BYTES))
                news = [self._take(watched, mask, name) for watched, mask, name in events]
            if self._bell in ready:
                return os.eventfd_read(self._bell) > 0
            return any(news)

        def _take(self, watched: int, mask: int, name: bytes) -> bool:
            """Whether the event matters; what a new directory holds already is told by its name."""
            if mask & InotifyConstants.IN_Q_OVERFLOW:  # the making of directories was perhaps lost
                for root in [self._paths[wd] for wd in self._roots if wd in self._paths]:
                    self._try_to_add(root)
                return True
            if mask & InotifyConstants.IN_IGNORED:
                self._paths.pop(watched, None)
                return watched in self._roots
            here = self._paths.get(watched)
            if here and mask & InotifyConstants.IN_ISDIR:
                self._try_to_add(os.path.join(here, name))  # noqa: PTH118 - bytes
            return self._matters(os.fsdecode(name))

        def _try_to_add(self, top: bytes) -> None:
            with suppress(OSError):  # it is gone again, or the watches are used up
                self._add(top)

        def _add(self, top: bytes) -> int:
            """The directory and all below it are watched. Raises OSError."""
            watched = self._watch(top)
            for here, below, _ in os.walk(top):
                for name in below:
                    with suppress(OSError):
                        self._watch(os.path.join(here, name))  # noqa: PTH118 - bytes
            return watched

        def _watch(self, path: bytes) -> int:
            watched = _checked(inotify_add_watch(self._events, path, self._MASK))
            self._paths[watched] = path
            return watched


def _checked(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _parsed(events: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Watch, mask and name of each; `struct inotify_event` of inotify(7)."""
    begin = 0
    while begin < len(events):
        watched, mask, _, length = struct.unpack_from("iIII", events, begin)
        begin += 16 + length
        yield watched, mask, events[begin - length : begin].rstrip(b"\0")
