"""A host takes part in the team: what its mount does is proved, and on record for all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from coordination import layout
from coordination.clock import iso
from coordination.errors import TeamError
from coordination.handshake import NOBODY, Answers, Call, Finding
from coordination.leadership import Leadership
from coordination.liveness import read_beat
from coordination.process import this_machine, this_process
from coordination.profile import Joined, Profile, called, profile_log, profile_of, with_host
from coordination.protocols import PERSON
from coordination.records import MemberState
from coordination.roster import Roster

if TYPE_CHECKING:
    from typing import Any

    from coordination.identity import ProcessIdentity
    from coordination.profile import Hosts
    from coordination.team_root import Team

ALONE = Finding(found=Profile.UNLOCKED, why="no other host has joined yet")
_BEATS = frozenset({MemberState.ALIVE, MemberState.CLOSING})


@dataclass(eq=False)
class OtherHost(TeamError):
    """The directory lies on a disk of this machine, and the team on one of another."""

    host: str
    here: str
    exit_code = 2
    says = (
        "this team works on {host}, and here ({here}) its directory is on a local disk, so the two cannot "
        "meet; mount the directory of {host} here, or give this copy a team of its own with --team DIR"
    )


@dataclass(eq=False)
class MountUnfit(TeamError):
    """The mount of this host cannot carry a team."""

    path: str
    here: str
    type: str
    why: str
    remedy: str
    exit_code = 2
    says = "{path} cannot carry the team on {here} ({type}): {why}; {remedy}"


class _Meanwhile(Exception):
    """Another host joined while this one looked."""


def agree_on_profile(team: Team) -> Profile:
    """The host takes part, and the process knows the profile in force. Raises OtherHost, MountUnfit.

    A host that is new, or that could prove nothing yet, shakes hands with a process of another one.
    """
    log, here = profile_log(team.directory), team.mount.file_system
    if not here.has_links:
        raise _unfit(team, "it knows no hard links, so two could win the same task")
    while True:
        hosts = log.refresh() or {}
        finding = _look_at(team, hosts)
        if finding is None:
            break
        try:
            hosts = log.commit(partial(_entry, team, hosts, finding))
        except _Meanwhile:
            continue
        if finding.found is Profile.UNFIT:
            raise _unfit(team, finding.why)
        break
    team.mount.take(hosts)
    return team.mount.profile


def _entry(team: Team, seen: Hosts, finding: Finding, state: Hosts | None, _: int) -> dict[str, Any]:
    if (state or {}).keys() != seen.keys():
        raise _Meanwhile
    me, machine = this_process(), this_machine()
    joined = Joined(
        profile=finding.found,
        host=called(seen, me.host, machine),
        at=iso(team.clock.now()),
        found=finding.found,
        file_system=team.mount.file_system.type,
        boot=me.boot,
        machine=machine,
        proven_with=finding.proven_with,
        visible_seconds=finding.visible_seconds,
        why=finding.why,
    )
    profile = profile_of(with_host(state or {}, joined).values())
    return joined.to_json() | {"profile": profile}


def _look_at(team: Team, hosts: Hosts) -> Finding | None:
    """What is to be put on record of this host; None where that is there already. Raises OtherHost."""
    me, machine, here = this_process(), this_machine(), team.mount.file_system
    name = called(hosts, me.host, machine)
    own = hosts.get(name)
    others = [host for host in hosts.values() if host.host != name and host.found is not Profile.UNFIT]
    if own and (own.found is Profile.UNFIT or own.file_system not in {"", here.type}):
        own = None  # it tries again, or is mounted in another way
    if own and (own.proven_with or not others):
        return None
    if not here.is_shared and all(other.found is Profile.LOCAL for other in others):
        if own or not others or any(_is_this(other, me, machine) for other in others):
            return None if own else Finding(found=Profile.LOCAL)
        raise OtherHost(host=others[0].host, here=me.host)
    finding = _shake_hands(team) if others else ALONE
    return None if own and finding is NOBODY else finding


def _is_this(host: Joined, me: ProcessIdentity, machine: str) -> bool:
    """Whether the machine was of that name, or was set up anew under its name."""
    return host.boot == me.boot or host.host == me.host or (machine != "" and host.machine == machine)


def _shake_hands(team: Team) -> Finding:
    elsewhere = Elsewhere(team)
    return Call(team, elsewhere.lives).find_out() if elsewhere.names else NOBODY


def _unfit(team: Team, why: str) -> MountUnfit:
    here = team.mount.file_system
    host = this_process().host
    return MountUnfit(path=str(team.root), here=host, type=here.type, why=why, remedy=here.remedy)


class Elsewhere:
    """The processes of other hosts that may live, by their beats as they were at the start."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._beats = {who: read_beat(team, who) for who in _elsewhere(team)}

    @property
    def names(self) -> list[str]:
        """Who may be there: `lead~3`, `alice~7`."""
        return list(self._beats)

    def lives(self) -> bool:
        """Whether a beat has changed since."""
        return any(read_beat(self._team, who) != beat for who, beat in self._beats.items())


def _elsewhere(team: Team) -> list[str]:
    me, found = this_process(), []
    newest = Leadership(team).newest()
    if newest and not newest[1].ended and _is_elsewhere(newest[1].process, me):
        found.append(layout.bearer("lead", newest[0]))
    there = [member for member in Roster(team, PERSON).all() if member.state in _BEATS]
    found += [member.bearer for member in there if member.process and _is_elsewhere(member.process, me)]
    return found


def _is_elsewhere(process: ProcessIdentity, me: ProcessIdentity) -> bool:
    return (process.host, process.boot) != (me.host, me.boot)


class ProfileWatch:
    """Keeps a process that runs up to date with the profile, and answers hosts that join.

    An object belongs to one thread.
    """

    def __init__(self, team: Team) -> None:
        self._team = team
        self._log = profile_log(team.directory)
        self._answers = Answers(team)

    def look(self) -> bool:
        """What is in force now is in force for every part of the process; True when that is new."""
        before = self._team.mount.profile
        self._team.mount.take(self._log.refresh())
        self._answers.look()
        return self._team.mount.profile is not before
