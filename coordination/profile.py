"""What the team directory guarantees, as a numbered log: another machine may join later."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.numbered_log import NumberedLog, Record
from coordination.process import this_process

if TYPE_CHECKING:
    from coordination.team_root import Team


class Profile(StrEnum):
    """How processes of the team may meet."""

    LOCAL = "local"  # one host: file events, and a lock that works


@dataclass(eq=False)
class OtherHost(TeamError):
    """A process of another machine wants to join a team that was proven on one host only."""

    host: str
    here: str
    says = "this team works on {host} alone; start teammates there, this is {here}"


class ProfileRules:
    """The first record says the profile and the host that it was proven on."""

    def check(self, state: tuple[Profile, str] | None, record: Record) -> None:
        if state is not None:
            raise InvalidRecord(why="this version knows no other profile to change to")
        if record.body.get("profile") not in list(Profile) or not isinstance(record.body.get("host"), str):
            raise InvalidRecord(why="it names no known profile")

    def apply(self, state: tuple[Profile, str] | None, record: Record) -> tuple[Profile, str]:  # noqa: ARG002
        return Profile(record.body["profile"]), record.body["host"]


class _Known(Exception):
    """Somebody said it before."""


def agree_on_profile(team: Team) -> Profile:
    """The profile of the team; the first process that asks proves and records it. Raises OtherHost."""
    log = NumberedLog(team.directory, layout.PROFILE_LOG, name="profile/mount", rules=ProfileRules())
    here = this_process().host

    def draft(state: tuple[Profile, str] | None, _: int) -> dict[str, Any]:
        if state is not None:
            raise _Known
        return {"profile": Profile.LOCAL, "host": here, "at": iso(team.clock.now())}

    with suppress(_Known):
        log.commit(draft)
    assert log.state is not None
    profile, host = log.state
    if host != here:
        raise OtherHost(host=host, here=here)
    return profile
