"""Beats: a counter that changes while a process lives, and the patience of those who watch it."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import NotRegularFile, StateUnwritable, TeamError

if TYPE_CHECKING:
    from coordination.clock import Clock
    from coordination.profile import Ttl
    from coordination.team_root import Team

LOOKS_PER_TTL = 6  # beats too come this often
LOST = frozenset({errno.ENOTCONN, errno.ESHUTDOWN, errno.EIO})  # the state directory itself is gone
_WIDTH = 64


def has_lost_all(error: TeamError) -> bool:
    """True when the error means that nothing of the team can be known any more, leases included."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in LOST


class Beat:
    """The beat of this process; one thread at a time may beat, any may ask for its age."""

    def __init__(self, team: Team, who: str) -> None:
        self._directory = team.directory
        self._path = layout.beat(who)
        self._clock = team.clock
        self._count = 0
        self._last = float("-inf")

    def is_late(self, ttl_seconds: float) -> bool:
        """True when the last beat is older than TTL/2, so that others may be about to call it silent."""
        return self._clock.monotonic() - self._last > ttl_seconds / 2

    def beat(self, task: str | None = None, token: int | None = None) -> None:
        """The file differs from before; task and token in it are hints for people.

        Raises StateUnwritable.
        """
        self._count += 1
        began = self._clock.monotonic()  # a process that is stopped while it writes has to doubt
        text = f"{self._count} {task or '-'} {token or '-'}"
        try:
            self._directory.overwrite(self._path, f"{text[: _WIDTH - 1]:<{_WIDTH - 1}}\n".encode())
        except OSError as error:
            raise StateUnwritable.of(self._path, error) from error
        self._last = began

    def beat_in_time(self, ttl_seconds: float) -> bool:
        """Whether the beat was written, and not late; a full disk passes.

        Raises StateUnwritable when the team is out of reach.
        """
        was_late = self.is_late(ttl_seconds)
        try:
            self.beat()
        except StateUnwritable as error:
            if has_lost_all(error):
                raise
            return False
        return not was_late


def read_beat(team: Team, who: str) -> bytes | None:
    """What the beat of `alice~7` holds now; None when there is none or it cannot be read."""
    try:
        return team.directory.read_from(layout.beat(who), 0, _WIDTH)[0]
    except (OSError, NotRegularFile):
        return None


@dataclass(slots=True)
class _Seen:
    beat: bytes | None
    at: float  # when it was last looked at and counted
    silence: float = 0.0


class BeatWatch:
    """Silence of others, counted in looks of this observer; no clock of theirs matters.

    A gap between two looks counts TTL/6 at most, so an observer that was stopped or asleep does not
    take the others for dead. An object belongs to one thread.
    """

    def __init__(self, clock: Clock, ttl: Ttl) -> None:
        self._ttl = ttl
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._held = False
        self._counting_since = float("-inf")

    def look(self, who: str, beat: bytes | None) -> float:
        """Seconds for which the beat of `alice~7` stood still; 0 when it differs from the last look."""
        now = self._clock.monotonic()
        seen = self._seen.get(who)
        if seen is None or seen.beat != beat:
            self._seen[who] = _Seen(beat=beat, at=now)
            return 0.0
        gap, step = now - max(seen.at, self._counting_since), self._ttl() / LOOKS_PER_TTL
        if not self._held and gap >= step:
            seen.silence += step
            seen.at = now
        return seen.silence

    def silent(self, who: str) -> bool:
        """True when the beat stood still for a whole TTL of looks."""
        seen = self._seen.get(who)
        ttl = self._ttl()  # less half a step for the rounding of six sums
        return seen is not None and seen.silence > ttl - ttl / LOOKS_PER_TTL / 2

    def count_only(self, *, if_on_time: bool) -> None:
        """Count nothing while the observer's own beat fails or was late: the trouble is on its side.

        Afterwards it counts again, from now.
        """
        if self._held and if_on_time:
            self._counting_since = self._clock.monotonic()
        self._held = not if_on_time

    def forget(self, who: str) -> None:
        """Its silence is 0 again, as if it had never been looked at."""
        self._seen.pop(who, None)
