"""What the team directory guarantees, as a numbered log: another machine may join later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.mounts import FileSystem
from coordination.numbered_log import NumberedLog, Record
from coordination.records import JsonRecord

if TYPE_CHECKING:
    from coordination.files import StateDirectory

LEAST_VISIBLE_SECONDS = 1.0  # until others see what was written, where no handshake took longer


class Profile(StrEnum):
    """How processes of the team may meet."""

    LOCAL = "local"  # one machine: file events, and a lock that works
    FLOCK = "flock"  # a shared mount whose lock two hosts proved to each other
    UNLOCKED = "unlocked"  # a shared mount without a usable lock, or with one that nobody has proved
    UNFIT = "unfit"  # of one host: it cannot take part


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """All that a profile decides; everything else is the same everywhere."""

    lock: bool  # the lock of the tasks directory is of use
    events: bool  # every change is told by the system; else it has to be looked for
    ttl_seconds: float  # of leases, unless the person set it
    listing_seconds: float  # how old a listing of ready tasks may be


_SHARED = Guarantees(lock=False, events=False, ttl_seconds=60.0, listing_seconds=5.0)
GUARANTEES = {
    Profile.LOCAL: Guarantees(lock=True, events=True, ttl_seconds=15.0, listing_seconds=1.0),
    Profile.FLOCK: Guarantees(lock=True, events=False, ttl_seconds=60.0, listing_seconds=5.0),
    Profile.UNLOCKED: _SHARED,
    Profile.UNFIT: _SHARED,
}

Ttl = Callable[[], float]  # seconds, asked anew at each use: the profile may change meanwhile


class Joined(JsonRecord, frozen=True, kw_only=True):
    """What a host found about its mount of the team directory."""

    profile: Profile  # of the team from here on
    host: str  # as the team calls it
    at: str
    found: Profile = Profile.LOCAL  # for this host, alone or together with `proven_with`
    file_system: str = ""  # as its kernel calls it
    boot: str = ""  # boot id of the kernel
    machine: str = ""  # what tells it from another of its name, where there is such a thing
    proven_with: str | None = None  # the host with which it shook hands; None: nobody was there
    visible_seconds: float = 0.0  # the longest it took until a file of that host was seen
    why: str = ""


Hosts = Mapping[str, Joined]  # by name, each as it stands now


def called(hosts: Hosts, host: str, machine: str) -> str:
    """What the team calls a machine: by its name, with more to it where another machine has that name."""
    there = hosts.get(host)
    is_another = there is not None and machine and there.machine not in {"", machine}
    return f"{host}-{machine[:4]}" if is_another else host


def profile_of(hosts: Iterable[Joined]) -> Profile:
    """The profile of a team in which these hosts take part."""
    found = {host.found for host in hosts} - {Profile.UNFIT}
    if len(found) == 1:
        return found.pop()
    return Profile.UNLOCKED if found else Profile.UNFIT


def with_host(hosts: Hosts, joined: Joined) -> dict[str, Joined]:
    """The hosts after this one joined: a lock that two have proved, or found of no use, counts for both."""
    after = {**hosts, joined.host: joined}
    other = hosts.get(joined.proven_with or "")
    if other and joined.found in {Profile.FLOCK, Profile.UNLOCKED} and other.found is not Profile.FLOCK:
        after[other.host] = msgspec.structs.replace(other, found=joined.found, proven_with=joined.host)
    return after


class ProfileRules:
    """Any host may say what it found; the profile of the team follows from all of them."""

    def check(self, state: Hosts | None, record: Record) -> None:
        joined = Joined.from_json(record.body)
        follows = profile_of(with_host(state or {}, joined).values())
        if joined.profile is not follows:
            raise InvalidRecord(why=f"it says {joined.profile}, but the profile of its hosts is {follows}")

    def apply(self, state: Hosts | None, record: Record) -> Hosts:
        return with_host(state or {}, Joined.from_json(record.body))


def profile_log(directory: StateDirectory) -> NumberedLog[Hosts]:
    """The log of the hosts that take part, not yet read."""
    return NumberedLog(directory, layout.PROFILE_LOG, name="profile/mount", rules=ProfileRules())


class Mount:
    """What the team directory guarantees at this moment to the parts of one process, in all its threads."""

    def __init__(self, file_system: FileSystem | None = None) -> None:
        self.file_system = file_system or FileSystem()
        self.hosts: Hosts = {}
        self.profile = Profile.LOCAL
        self.take(self.hosts)

    def take(self, hosts: Hosts | None) -> None:
        """These hosts take part from now on; what is in force follows, as far as this mount allows it."""
        self.hosts = hosts or {}
        profile = profile_of(self.hosts.values()) if self.hosts else Profile.LOCAL
        is_elsewhere = profile is Profile.LOCAL and self.file_system.is_shared  # this host has not joined yet
        self.profile = Profile.UNLOCKED if is_elsewhere else profile

    @property
    def guarantees(self) -> Guarantees:
        """What is in force now."""
        return GUARANTEES[self.profile]

    @property
    def settling_seconds(self) -> float:
        """Twice the delay with which others are seen: so long the last look at mail is put off."""
        if self.profile is Profile.LOCAL:
            return 0.0
        return 2 * max((LEAST_VISIBLE_SECONDS, *(host.visible_seconds for host in self.hosts.values())))

    def ttl(self, configured: float | None) -> Ttl:
        """The TTL of leases: what the person set, else what the profile says whenever it is asked for."""
        return lambda: self.guarantees.ttl_seconds if configured is None else configured
