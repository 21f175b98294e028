from __future__ import annotations

import errno
import shutil
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.clock import SystemClock
from coordination.file_events import ByObserver, watch
from coordination.profile import Profile
from coordination.wakeup import POLL_SECONDS, Wakeup
from tests.support.mail import Receiver, join, outbox, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from coordination.file_events import FileEvents
    from coordination.team_root import Team

    Way = Callable[[Sequence[str], Callable[[str], bool]], FileEvents]

BOX = layout.inbox("bob")
SOON = 30.0  # far above what an event takes, so that a busy machine does not matter
WAYS = pytest.mark.parametrize("way", [watch, ByObserver])
QUIET = 0.5  # events were seen after 5 ms at most where nothing else went on


@pytest.fixture(params=[watch, ByObserver], ids=["own way", "observer"])
def wakeup(team: Team, request: pytest.FixtureRequest) -> Iterator[Wakeup]:
    made = Wakeup(team, [BOX, layout.MEMBERS], watched_by=request.param)
    yield made
    made.close()


def append(team: Team) -> None:
    write(team, "bob", "person~x", b"{}\n")


def commit(team: Team) -> None:
    team.directory.make(layout.member_log("alice"))
    team.directory.publish(layout.record(layout.member_log("alice"), 1), b"{}")


def replace(team: Team) -> None:
    team.directory.replace(f"{BOX}/person~x.jsonl", b"{}")


def hint(team: Team) -> None:
    team.directory.touch(f"{BOX}/hint")


@pytest.mark.parametrize("change", [append, commit, replace, hint])
def test_a_change_ends_the_wait(team: Team, wakeup: Wakeup, change: Callable[[Team], None]) -> None:
    assert wakeup.by_events
    change(team)
    assert wakeup.wait(SOON)


def test_a_message_wakes_by_an_event_and_is_not_polled_for(team: Team) -> None:  # W32
    for name in ("alice", "bob"):
        join(team, name)
    alice, bob = outbox(team, "alice"), Wakeup(team, [BOX])
    receiver, texts = Receiver(team, "bob"), list[str]()
    sender = threading.Timer(0.1, alice.send, ("bob", "hello"))
    sender.start()
    while not texts and bob.wait(SOON):  # the file is seen before its line is
        texts = receiver.texts()
    assert bob.by_events
    assert texts == ["hello"]
    bob.close()
    sender.join()


def test_reading_wakes_nobody(team: Team, wakeup: Wakeup) -> None:
    for name in ("alice", "bob"):
        join(team, name)
    outbox(team, "alice").send("bob", "hello")
    while wakeup.wait(QUIET):
        pass
    assert Receiver(team, "bob").texts() == ["hello"]
    assert not wakeup.wait(QUIET)


def test_beats_and_temporary_files_wake_nobody(team: Team, wakeup: Wakeup) -> None:
    team.directory.overwrite(layout.beat("alice~2"), b"1")
    (team.root / BOX / ".tmp~host~boot~1~ab").write_bytes(b"x")
    assert not wakeup.wait(QUIET)


def test_a_change_between_look_and_wait_is_not_lost(team: Team, wakeup: Wakeup) -> None:
    append(team)
    assert wakeup.wait(SOON)
    while wakeup.wait(QUIET):
        pass
    append(team)  # while the caller looks
    SystemClock().sleep(QUIET)
    assert wakeup.wait(0.0)


def test_nothing_new_is_a_time_out(wakeup: Wakeup) -> None:
    assert not wakeup.wait(0.01)


def test_wake_ends_a_wait_from_another_thread(wakeup: Wakeup) -> None:
    threading.Timer(0.05, wakeup.wake).start()
    assert wakeup.wait(SOON)


@WAYS
def test_close_leaves_no_thread_and_no_waiter(team: Team, way: Way) -> None:
    before = set(threading.enumerate())
    wakeup = Wakeup(team, [BOX], watched_by=way)
    waiter = threading.Thread(target=wakeup.wait, args=(60.0,))
    waiter.start()
    wakeup.close()
    waiter.join(SOON)
    assert set(threading.enumerate()) <= before
    assert not wakeup.wait(60.0)


@WAYS
def test_a_removed_directory_falls_back_to_polling(team: Team, way: Way) -> None:
    wakeup = Wakeup(team, [BOX], watched_by=way)
    shutil.rmtree(team.root / BOX)
    clock, deadline = SystemClock(), SystemClock().monotonic() + SOON
    while wakeup.by_events and clock.monotonic() < deadline:
        wakeup.wait(0.01)
    assert not wakeup.by_events
    while not wakeup.wait(0.6):
        pass
    wakeup.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's queue of events is that of inotify")
def test_a_directory_whose_making_was_lost_is_watched_from_the_overflow_on(team: Team) -> None:
    names: list[str] = []

    def matters(name: str) -> bool:
        names.append(name)
        return True

    team.directory.make(BOX)
    events = watch([str(team.root / BOX)], matters)
    files = [(team.root / BOX / name).open("wb", buffering=0) for name in "ab"]
    for number in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text("ascii"))):
        files[number % 2].write(b"x")  # the same event twice would be kept once
    (team.root / BOX / "new").mkdir()
    while events.wait(QUIET):
        pass
    assert "new" not in names
    (team.root / BOX / "new" / "1.json").touch()
    assert events.wait(SOON)
    assert names[-1] == "1.json"
    events.close()
    for file in files:
        file.close()


def out_of_instances(_: Sequence[str], __: Callable[[str], bool]) -> FileEvents:
    raise OSError(errno.EMFILE, "too many open files")


def out_of_watches(way: Way) -> Way:
    """The system refuses the second directory."""
    return lambda paths, changed: way([*paths, "/nowhere"], changed)


@pytest.mark.parametrize("way", [out_of_instances, out_of_watches(watch), out_of_watches(ByObserver)])
def test_a_system_without_events_is_polled_and_leaves_no_thread(team: Team, way: Way) -> None:
    before = set(threading.enumerate())
    wakeup = Wakeup(team, [BOX], watched_by=way)
    assert not wakeup.by_events
    assert set(threading.enumerate()) <= before
    assert wakeup.wait(SOON)
    assert not wakeup.wait(0.01)
    wakeup.close()


# where other hosts have the directory too


def test_other_hosts_are_looked_for_though_the_system_tells_of_this_one(team: Team) -> None:
    wakeup = Wakeup(team, [BOX])
    assert wakeup.by_events
    team.mount.profile = Profile.UNLOCKED  # while it runs
    assert not wakeup.by_events
    assert wakeup.wait(SOON)
    append(team)  # a process of this host still wakes it at once
    assert wakeup.wait(0.0001)
    wakeup.close()


class Deaf:
    """No event ever comes; it notes how long it was waited."""

    is_whole = True

    def __init__(self) -> None:
        self.waited: list[float] = []

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        return False

    def wake(self) -> None:
        raise AssertionError

    def close(self) -> None:
        """Nothing to give back."""


def test_looks_become_seldomer_until_something_is_new(team: Team) -> None:
    team.mount.profile, deaf = Profile.FLOCK, Deaf()
    wakeup = Wakeup(team, [BOX], watched_by=lambda *_: deaf)
    assert all(wakeup.wait(SOON) for _ in range(9))
    assert deaf.waited == sorted(deaf.waited)
    assert (deaf.waited[0], deaf.waited[-1]) == POLL_SECONDS
    append(team)
    assert wakeup.wait(0.01)
    assert wakeup.wait(SOON)
    assert deaf.waited[-1] == POLL_SECONDS[0]
    assert not wakeup.wait(0.01)
