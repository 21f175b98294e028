"""The lock of the tasks directory: a courtesy that keeps whole-directory work orderly."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import filelock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from coordination.clock import Clock

WAIT_SECONDS = 2.0
LEFT_OUT_SECONDS = 60.0  # after one wait in vain


class CourtesyLock:
    """Taken around scans, repairs and view refresh where it is free; never needed for a right state."""

    def __init__(self, path: Path, clock: Clock, *, is_of_use: Callable[[], bool] = lambda: True) -> None:
        """`is_of_use` says whether the mount is known to have locks, which may change."""
        self._is_of_use = is_of_use
        self._place = path.parent
        self._lock = filelock.FileLock(path, poll_interval=0.005, fallback_to_soft=False, is_singleton=False)
        self._clock = clock
        self._left_out_until = float("-inf")

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Run the body under the lock, or after `WAIT_SECONDS` without it; yields which of both."""
        is_due = self._is_of_use() and self._clock.monotonic() >= self._left_out_until
        got = is_due and self._place.is_dir() and self._acquire()  # filelock would make the directory
        try:
            yield got
        finally:
            if got:
                self._lock.release()

    def _acquire(self) -> bool:
        try:
            self._lock.acquire(timeout=WAIT_SECONDS)
        except (filelock.Timeout, OSError, NotImplementedError):  # busy, or no lock on this mount
            self._left_out_until = self._clock.monotonic() + LEFT_OUT_SECONDS
            return False
        return True


class HostLock:
    """A lock among the processes of a user on one machine; it ends with its holder at the latest."""

    def __init__(self, path: Path) -> None:
        self._lock = filelock.FileLock(path, fallback_to_soft=False, is_singleton=False)

    def acquire(self) -> bool:
        """True when it is held from now on; False at once when another holds it, or none can be made."""
        try:
            self._lock.acquire(timeout=0)
        except (filelock.Timeout, OSError, NotImplementedError):
            return False
        return True

    def release(self) -> None:
        """Nobody holds it."""
        self._lock.release()


def is_held_elsewhere(path: Path) -> bool:
    """True when another process holds the lock of the file; False when it is free, or none can be had."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # this mount knows no locks
        return False
    finally:
        os.close(descriptor)
    return False
