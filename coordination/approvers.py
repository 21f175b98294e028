"""Which processes show questions to a person at this moment; each has a file while it does."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from coordination import layout
from coordination.errors import NotRegularFile, StateUnreadable
from coordination.identity import ProcessIdentity
from coordination.process import is_stopped, known_alive, known_dead, place_and_pid, this_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.team_root import Team


@contextmanager
def attached(team: Team) -> Iterator[None]:
    """Until the block ends, questions to the person wait for an answer, because this process shows them."""
    path = layout.approver(place_and_pid())
    team.directory.make(layout.APPROVERS)
    team.directory.replace(path, msgspec.json.encode(this_process()))
    try:
        yield
    finally:
        team.directory.unlink(path)


def is_somebody_attached(team: Team) -> bool:
    """True when a process that shows questions to a person runs; what dead ones left is removed."""
    found = [_is_there(team, name) for name in team.directory.names(layout.APPROVERS)]
    return any(found)


def _is_there(team: Team, name: str) -> bool:
    path = f"{layout.APPROVERS}/{name}"
    try:
        process = msgspec.json.decode(team.directory.read(path), type=ProcessIdentity)
    except (OSError, NotRegularFile, StateUnreadable, msgspec.DecodeError):  # on its way, or no file of ours
        return False
    me = this_process()
    if known_dead(process, me):
        team.directory.unlink(path)
        return False
    return not (known_alive(process, me) and is_stopped(process.pid))
