"""Which processes show questions to a person at this moment; each has a file while it does."""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from coordination import layout
from coordination.errors import NotRegularFile, StateUnreadable
from coordination.identity import ProcessIdentity
from coordination.process import is_stopped, known_alive, known_dead, place_and_pid, this_process
from coordination.profile import profile_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.team_root import Team


BEAT_SECONDS = 1.0  # between two signs of life, for those who cannot see the process
PATIENCE_SECONDS = 5.0  # with a process of another host; it looks at its terminal, or its mount is slow


class Attachment:
    """The word of a process that it shows questions to a person."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._path = layout.approver(place_and_pid())
        self._process = msgspec.to_builtins(this_process())
        self._count = 0
        self._last = float("-inf")
        self._profile = profile_log(team.directory)
        team.directory.make(layout.APPROVERS)
        self._write()

    def beat(self) -> None:
        """Processes of other hosts see that this one lives; to be called at each look."""
        now, mount = self._team.clock.monotonic(), self._team.mount
        if now - self._last < BEAT_SECONDS:
            return
        self._last = now
        mount.take(self._profile.refresh())  # a host may have joined since
        if len(mount.hosts) > 1 or not mount.guarantees.events:
            self._count += 1
            self._write()

    def close(self) -> None:
        """It does no more."""
        self._team.directory.unlink(self._path)

    def _write(self) -> None:
        said = self._process | {"count": self._count}
        self._team.directory.replace(self._path, msgspec.json.encode(said))


@contextmanager
def attached(team: Team) -> Iterator[Attachment]:
    """Until the block ends, questions to the person wait for an answer, because this process shows them."""
    attachment = Attachment(team)
    try:
        yield attachment
    finally:
        attachment.close()


def is_somebody_attached(team: Team) -> bool:
    """True when a process that shows questions to a person runs; what dead ones left is removed.

    With one of another host that takes a while: only a sign of life tells.
    """
    found = {name: _look(team, name) for name in team.directory.names(layout.APPROVERS)}
    return _Seen.HERE in found.values() or _shows_life(
        team, [name for name, seen in found.items() if seen is _Seen.ELSEWHERE]
    )


class _Seen(Enum):
    NOT = "dead, stopped or no file of ours"
    HERE = "it runs on this host"
    ELSEWHERE = "nobody here can see it"


def _shows_life(team: Team, names: list[str]) -> bool:
    deadline = team.clock.monotonic() + PATIENCE_SECONDS
    before = {name: _said(team, name) for name in names}
    while names and team.clock.monotonic() < deadline:
        if any(_said(team, name) not in {None, before[name]} for name in names):
            return True
        team.clock.sleep(0.1)
    return False


def _said(team: Team, name: str) -> bytes | None:
    try:
        return team.directory.read(f"{layout.APPROVERS}/{name}")
    except (OSError, NotRegularFile, StateUnreadable):
        return None


def _look(team: Team, name: str) -> _Seen:
    try:
        process = msgspec.json.decode(_said(team, name) or b"", type=ProcessIdentity)
    except msgspec.DecodeError:  # on its way, or no file of ours
        return _Seen.NOT
    if known_dead(process):
        team.directory.unlink(f"{layout.APPROVERS}/{name}")
        return _Seen.NOT
    if not known_alive(process):
        return _Seen.ELSEWHERE
    return _Seen.NOT if is_stopped(process.pid) else _Seen.HERE
