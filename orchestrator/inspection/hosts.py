"""The machines that have the team directory, and what that allows, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordination.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordination.profile import Joined, Mount

IN_WORDS = {
    Profile.LOCAL: "one machine: changes are told at once, and a death is known at once",
    Profile.FLOCK: "a shared mount whose lock two hosts proved: changes are looked for, and silence is death",
    Profile.UNLOCKED: "a shared mount without a proven lock: changes are looked for, and silence is death",
    Profile.UNFIT: "no host can take part",
}


def hosts(mount: Mount) -> list[dict[str, Any]]:
    """What each host found, for programs."""
    return [
        {"host": host.host, "found": str(host.found), "file_system": host.file_system, "why": host.why}
        for host in mount.hosts.values()
    ]


def refused(mount: Mount) -> list[Joined]:
    """The hosts that cannot take part."""
    return [host for host in mount.hosts.values() if host.found is Profile.UNFIT]


def host_rows(facts: Mapping[str, Any]) -> list[str]:
    """The same for a person, a line for each that was refused."""
    taking_part = [host["host"] for host in facts["hosts"] if host["found"] != Profile.UNFIT]
    lines = [f"on {', '.join(taking_part)} ({facts['profile']})"] if taking_part else []
    return lines + [
        f"refused: {host['host']} ({host['file_system']}): {host['why']}"
        for host in facts["hosts"]
        if host["found"] == Profile.UNFIT
    ]
