"""Who tells of changes below directories: inotify by the shortest way, elsewhere what the system has."""

from __future__ import annotations

import os
import sys
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

if sys.platform == "linux":
    from watchdog.observers.inotify_c import (
        CallbackId,
        InotifyConstants,
        InotifyEvent,
        InotifyFD,
        Mask,
        WatchDescriptor,
    )

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Opening and reading are left out: a reader would wake itself for ever.
_EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileModifiedEvent, FileMovedEvent, DirCreatedEvent]


class FileEvents(Protocol):
    """Directories that are watched, with what is or comes below them."""

    @property
    def is_whole(self) -> bool:
        """False once one of the directories is watched no more."""
        ...

    def close(self) -> None:
        """Nothing is told any more, and no thread is left."""
        ...


def watch(paths: Sequence[str], changed: Callable[[str], None]) -> FileEvents:
    """From now on `changed` is called, in another thread, with the name of what is new or changed.

    Raises OSError where the system gives no events (too many watches).
    """
    return ByInotify(paths, changed) if sys.platform == "linux" else ByObserver(paths, changed)


class ByObserver(FileSystemEventHandler):
    """The observer of whatever system; on Linux its three threads would triple the time to a wake-up."""

    def __init__(self, paths: Sequence[str], changed: Callable[[str], None]) -> None:
        """As `watch`."""
        self._changed = changed
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
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called by the observer."""
        self._changed(os.path.basename(os.fsdecode(event.dest_path or event.src_path)))  # noqa: PTH119


if sys.platform == "linux":

    class ByInotify:
        """One thread reads the events and tells of them at once."""

        _MASK = Mask(
            InotifyConstants.IN_CREATE
            | InotifyConstants.IN_MODIFY
            | InotifyConstants.IN_MOVED_TO
            | InotifyConstants.IN_ONLYDIR
            | InotifyConstants.IN_DONT_FOLLOW
        )

        def __init__(self, paths: Sequence[str], changed: Callable[[str], None]) -> None:
            """As `watch`."""
            self._changed = changed
            self._id = CallbackId(id(self))
            self._paths: dict[WatchDescriptor, bytes] = {}
            self._reader = InotifyFD()
            self._reader.start()
            try:
                self._roots = {self._add(os.fsencode(path)) for path in paths}
            except OSError:
                self.close()
                raise

        @property
        def is_whole(self) -> bool:
            return self._reader.is_alive() and self._roots <= self._paths.keys()

        def close(self) -> None:
            self._reader.stop()
            self._reader.join()

        def on_event(self, event: InotifyEvent) -> None:
            """Called by the reader; what a new directory holds already is told by its name."""
            here = self._paths.get(event.wd)
            if here and event.is_directory and (event.is_create or event.is_moved_to):
                with suppress(OSError):  # it is gone again, or the watches are used up
                    self._add(os.path.join(here, event.name))  # noqa: PTH118 - bytes
            self._changed(os.fsdecode(event.name))

        def on_watch_deleted(self, wd: WatchDescriptor) -> None:
            """Called by the reader when a directory is gone."""
            self._paths.pop(wd, None)

        def on_queue_overflow(self) -> None:
            """Called by the reader when events were lost, those of new directories perhaps among them."""
            for root in [path for wd, path in self._paths.items() if wd in self._roots]:
                with suppress(OSError):
                    self._add(root)
            self._changed("")

        def _add(self, top: bytes) -> WatchDescriptor:
            """The directory and all below it are watched. Raises OSError."""
            wd = self._watch(top)
            for here, below, _ in os.walk(top):
                for name in below:
                    with suppress(OSError):
                        self._watch(os.path.join(here, name))  # noqa: PTH118 - bytes
            return wd

        def _watch(self, path: bytes) -> WatchDescriptor:
            for wd, known in self._paths.copy().items():
                if known == path:
                    return wd
            wd = self._reader.add_callback(path, self._MASK, self, self._id)
            self._paths[wd] = path
            return wd
