"""The only place that reads time or sleeps."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

# Names a directory: a file there that is called after the pid of a process holds the seconds by which its
# wall clock is off. `leadhand chaos` sets it for the team that it torments.
CLOCKS_VARIABLE = "LEADHAND_CHAOS_CLOCKS"


class Clock(Protocol):
    """Time as a parameter, so that tests can hold it still."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC time: for people, never compared between processes."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that only grows and also runs while the machine is suspended."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block this thread; only the lease keeper and synchronous polling may."""
        ...


class SystemClock:
    """The machine's own clock."""

    def __init__(self) -> None:
        self._moved_in = os.environ.get(CLOCKS_VARIABLE)

    def now(self) -> datetime:
        now = datetime.now(UTC)  # noqa: TID251 - this is the one reader
        return now if self._moved_in is None else now + _moved(Path(self._moved_in))

    def monotonic(self) -> float:
        boot_clock = getattr(time, "CLOCK_BOOTTIME", None)  # Linux; elsewhere monotonic is what there is
        return time.monotonic() if boot_clock is None else time.clock_gettime(boot_clock)  # noqa: TID251

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251 - likewise


def _moved(clocks: Path) -> timedelta:
    try:
        return timedelta(seconds=float((clocks / str(os.getpid())).read_text("ascii")))
    except (OSError, ValueError):  # it is right, or about to be set
        return timedelta()


def local(when: datetime) -> str:
    """The time here, for people and models: `Monday 2026-11-30 03:18 CET (+0100)`."""
    return f"{when.astimezone():%A %Y-%m-%d %H:%M %Z (%z)}"


def iso(when: datetime) -> str:
    """ISO 8601 in UTC with milliseconds: `2026-11-30T02:18:05.123Z`."""
    return f"{when.astimezone(UTC).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
