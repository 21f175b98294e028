"""The lock of the tasks directory where there is none to be had."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

import filelock

from coordination import layout
from coordination.locks import CourtesyLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from coordination.team_root import Team


class NeverGot(CourtesyLock):
    """Somebody else always has it."""

    def _acquire(self) -> bool:
        return False


class _NoFlock(filelock.FileLock):
    def _acquire(self) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class NotOnThisMount(CourtesyLock):
    """The mount knows no locks."""

    def _acquire(self) -> bool:
        self._lock = _NoFlock(self._lock.lock_file)
        return super()._acquire()


LOCKS: dict[str, type[CourtesyLock]] = {
    "lock": CourtesyLock,
    "lock never got": NeverGot,
    "no lock on this mount": NotOnThisMount,
}


def lock_of(team: Team, kind: str) -> CourtesyLock:
    return LOCKS[kind](team.root / layout.TASKS_LOCK, team.clock)


# what may have become of the lock file of a team before processes meet there


@contextmanager
def lock_is_free(_: Team) -> Iterator[None]:
    yield


@contextmanager
def a_directory_is_the_lock(team: Team) -> Iterator[None]:
    """No process can open it as a lock."""
    (team.root / layout.TASKS_LOCK).mkdir()
    yield


@contextmanager
def a_stopped_process_has_the_lock(team: Team) -> Iterator[None]:
    """It took the lock and stands still since."""
    ours, theirs = get_context("spawn").Pipe()
    holder = get_context("spawn").Process(
        target=_take_and_say_so, args=(str(team.root / layout.TASKS_LOCK), theirs), daemon=True
    )
    holder.start()
    assert holder.pid
    try:
        assert ours.recv() == "taken"
        os.kill(holder.pid, signal.SIGSTOP)
        yield
    finally:
        holder.kill()
        holder.join()
        holder.close()
        ours.close()
        theirs.close()


def _take_and_say_so(path: str, say: Connection[str, str]) -> None:
    with filelock.FileLock(path):
        say.send("taken")
        say.recv()


CONDITIONS: dict[str, Callable[[Team], object]] = {
    "free": lock_is_free,
    "held by a stopped process": a_stopped_process_has_the_lock,
    "no lock": a_directory_is_the_lock,
}
