"""Which profile a team has, who may take part, and what a process that runs makes of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination import joining, layout
from coordination.handshake import Finding
from coordination.identity import ProcessIdentity
from coordination.joining import MountUnfit, OtherHost, ProfileWatch, agree_on_profile
from coordination.mounts import FileSystem
from coordination.numbered_log import pretty, seal
from coordination.profile import Joined, Mount, Profile, profile_log, profile_of
from coordination.team_root import Team, open_team

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.clock import FakeClock

EXT4, NFS = FileSystem(type="ext4"), FileSystem(type="nfs4")
LOCAL, FLOCK, UNLOCKED, UNFIT = Profile.LOCAL, Profile.FLOCK, Profile.UNLOCKED, Profile.UNFIT


def on(
    team: Team,
    file_system: FileSystem,
    host: str,
    monkeypatch: pytest.MonkeyPatch,
    boot: str = "",
    machine: str = "",
) -> Team:
    """The team as a process of that host opens it."""
    boot = boot or f"boot of {host}{machine}"
    here = ProcessIdentity(host=host, boot=boot, pid_namespace="p", pid=1, started="1")
    monkeypatch.setattr(joining, "this_process", lambda: here)
    monkeypatch.setattr(joining, "this_machine", lambda: machine)
    mount = Mount(file_system)
    mount.take(profile_log(team.directory).refresh())
    return Team(id=team.id, directory=team.directory, repository=team.root, clock=team.clock, mount=mount)


def found(profile: Profile, host: str = "a", proven_with: str | None = None, **fields: Any) -> Joined:
    return Joined(profile=profile, found=profile, host=host, at="", proven_with=proven_with, **fields)


def records(team: Team) -> Mapping[str, Joined]:
    return profile_log(team.directory).refresh() or {}


def put(team: Team, number: int, body: dict[str, Any]) -> None:
    team.directory.make(layout.PROFILE_LOG)
    document = seal("profile/mount", body, number=number, prev=number - 1, commit_id=f"x{number}")
    team.directory.publish(layout.record(layout.PROFILE_LOG, number), pretty(document))


@pytest.mark.parametrize(
    ("hosts", "profile"),
    [
        ([LOCAL], LOCAL),
        ([LOCAL, LOCAL], LOCAL),
        ([LOCAL, UNFIT], LOCAL),
        ([FLOCK, FLOCK], FLOCK),
        ([FLOCK, UNFIT, FLOCK], FLOCK),
        ([FLOCK, UNLOCKED], UNLOCKED),
        ([LOCAL, UNLOCKED], UNLOCKED),
        ([LOCAL, FLOCK], UNLOCKED),
        ([UNFIT], UNFIT),
    ],
)
def test_the_weakest_host_that_takes_part_decides(hosts: list[Profile], profile: Profile) -> None:
    assert profile_of(map(found, hosts)) is profile


def test_the_first_process_records_the_profile_and_others_find_it(team: Team) -> None:
    assert agree_on_profile(team) is agree_on_profile(team) is LOCAL
    assert team.directory.names(layout.PROFILE_LOG) == ["1.json"]
    assert open_team(team.root).mount.profile is LOCAL


def test_the_record_of_an_older_version_is_that_of_a_local_disk(team: Team) -> None:
    put(team, 1, {"profile": "local", "host": "a", "at": ""})
    assert open_team(team.root).mount.profile is LOCAL


def test_a_record_that_says_another_profile_than_follows_does_not_count(team: Team) -> None:
    put(team, 1, found(UNLOCKED).to_json())
    put(team, 2, found(FLOCK, "b").to_json())
    assert list(records(team)) == ["a"]


def test_a_shared_mount_has_no_lock_and_no_events_from_the_beginning(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = on(team, NFS, "a", monkeypatch)
    assert agree_on_profile(here) is UNLOCKED
    assert not here.mount.guarantees.lock
    assert not here.mount.guarantees.events
    assert (here.mount.ttl(None)(), here.mount.ttl(7.0)()) == (60.0, 7.0)
    assert records(team)["a"].file_system == "nfs4"


def test_another_host_with_a_disk_of_its_own_is_refused_by_name(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree_on_profile(on(team, EXT4, "a", monkeypatch))
    with pytest.raises(OtherHost, match=r"works on a, and here \(b\) .* mount the directory of a here"):
        agree_on_profile(on(team, EXT4, "b", monkeypatch))
    assert list(records(team)) == ["a"]


def test_another_name_of_the_same_machine_is_no_other_machine(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree_on_profile(on(team, EXT4, "a", monkeypatch, boot="same"))
    assert agree_on_profile(on(team, EXT4, "b", monkeypatch, boot="same")) is LOCAL
    assert set(records(team)) == {"a", "b"}


def test_a_machine_that_was_renamed_or_set_up_anew_is_no_other_machine(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host, boot, machine in [("a", "1", "m1"), ("b", "2", "m1"), ("b", "3", "m2")]:
        assert agree_on_profile(on(team, EXT4, host, monkeypatch, boot=boot, machine=machine)) is LOCAL
    assert set(records(team)) == {"a", "b", "b-m2"}


def test_two_machines_of_one_name_are_two_hosts(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    agree_on_profile(on(team, EXT4, "node", monkeypatch, machine="m1"))
    assert agree_on_profile(on(team, NFS, "node", monkeypatch, machine="m2")) is UNLOCKED
    for machine, file_system in (("m1", EXT4), ("m2", NFS), ("m1", EXT4)):  # each comes again
        assert agree_on_profile(on(team, file_system, "node", monkeypatch, machine=machine)) is UNLOCKED
    assert {name: host.file_system for name, host in records(team).items()} == {
        "node": "ext4",
        "node-m2": "nfs4",
    }


def test_what_a_host_said_before_it_told_its_machine_is_its_own(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(team, 1, found(LOCAL, "node").to_json())
    assert agree_on_profile(on(team, EXT4, "node", monkeypatch, machine="m1")) is LOCAL
    assert len(records(team)) == 1


def test_a_machine_may_lend_its_local_disk_to_others(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    agree_on_profile(on(team, EXT4, "server", monkeypatch))
    assert agree_on_profile(on(team, NFS, "client", monkeypatch)) is UNLOCKED
    assert agree_on_profile(on(team, EXT4, "server", monkeypatch)) is UNLOCKED
    assert len(records(team)) == 2


def test_before_it_joins_a_host_does_not_take_a_shared_mount_for_local(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree_on_profile(on(team, EXT4, "server", monkeypatch))
    assert on(team, NFS, "client", monkeypatch).mount.profile is UNLOCKED


def test_an_object_store_is_refused_and_nothing_is_written(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MountUnfit, match=r"\(fuse.s3fs\): it knows no hard links.*--team DIR"):
        agree_on_profile(on(team, FileSystem(type="fuse.s3fs"), "a", monkeypatch))
    assert not records(team)


def test_what_two_hosts_prove_counts_for_both(team: Team) -> None:
    log = profile_log(team.directory)
    log.commit(lambda *_: found(UNLOCKED, "a").to_json())
    log.commit(lambda *_: found(FLOCK, "b", "a").to_json())
    assert {host.found for host in records(team).values()} == {FLOCK}
    body = found(UNLOCKED, "c").to_json()
    assert profile_of(log.commit(lambda *_: body).values()) is UNLOCKED


def test_what_a_host_proves_anew_while_another_joins_counts(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = profile_log(team.directory)
    log.commit(lambda *_: found(LOCAL, "a").to_json())
    log.commit(lambda *_: found(UNLOCKED, "b").to_json())

    def shake_hands(_: Team) -> Finding:
        log.commit(lambda *_: found(FLOCK, "b", "a").to_json())
        return Finding(found=FLOCK, proven_with="a")

    monkeypatch.setattr(joining, "_shake_hands", shake_hands)
    assert agree_on_profile(on(team, NFS, "c", monkeypatch)) is FLOCK
    assert set(records(team)) == {"a", "b", "c"}


def test_a_process_that_runs_takes_up_a_changed_profile(team: Team, clock: FakeClock) -> None:
    agree_on_profile(team)
    watch, ttl = ProfileWatch(team), team.mount.ttl(None)
    assert not watch.look()
    assert (ttl(), team.mount.settling_seconds) == (15.0, 0.0)
    other = Joined(profile=UNLOCKED, found=UNLOCKED, host="other", at="", visible_seconds=1.5)
    profile_log(team.directory).commit(lambda *_: other.to_json())
    assert watch.look()
    assert (ttl(), team.mount.settling_seconds) == (60.0, 3.0)
    assert clock
