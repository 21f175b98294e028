from __future__ import annotations

import os
import resource
import signal
import stat
from typing import TYPE_CHECKING, cast

import pytest

from coordination.append_file import AppendFile
from coordination.errors import LinkInTheWay, NotRegularFile, RootLost, StateUnreadable, StateUnwritable
from coordination.files import READ_PATIENCE_SECONDS, StateDirectory
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path, clock: FakeClock) -> Iterator[StateDirectory]:
    made = StateDirectory(tmp_path, clock=clock)
    yield made
    made.close()


class LateClock(FakeClock):
    """A file appears while a reader waits."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def sleep(self, seconds: float) -> None:
        self._path.write_bytes(b"late")
        super().sleep(seconds)


def names(directory: StateDirectory) -> list[str]:
    return sorted(directory.names("."))


def test_a_root_that_is_gone_is_lost(tmp_path: Path) -> None:
    with pytest.raises(RootLost):
        StateDirectory(tmp_path / "nowhere")


def test_state_stays_with_the_directory_that_was_opened(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    directory = StateDirectory(root)
    root.rename(tmp_path / "moved")
    root.mkdir()
    directory.replace("a", b"x")
    directory.close()
    assert (tmp_path / "moved/a").read_bytes() == b"x"
    assert list(root.iterdir()) == []


def test_a_root_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    directory = StateDirectory(root)
    directory.check()
    root.rename(tmp_path / "moved")
    with pytest.raises(RootLost):
        directory.check()
    root.mkdir()
    with pytest.raises(RootLost):
        directory.check()


@pytest.mark.parametrize("write", ["publish", "replace", "touch", "open_append"])
def test_nothing_is_written_through_a_linked_directory(
    directory: StateDirectory, tmp_path: Path, write: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (directory.path / "a").symlink_to(outside)
    data = [b"x"] if write in {"publish", "replace"} else []
    with pytest.raises(LinkInTheWay):
        getattr(directory, write)("a/b", *data)
    assert not list(outside.iterdir())


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_a_hint_whose_name_something_else_has_holds_nobody_up(directory: StateDirectory, kind: str) -> None:
    plant(directory.path / "a", kind)
    directory.touch("a")
    assert directory.unlink("a") is (kind == "pipe")


def plant(path: Path, kind: str) -> None:
    match kind:
        case "link":
            path.symlink_to("target")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_what_is_no_regular_file_is_not_read(directory: StateDirectory, tmp_path: Path, kind: str) -> None:
    (tmp_path / "target").write_bytes(b"secret")
    plant(tmp_path / "x", kind)
    with pytest.raises(NotRegularFile):
        directory.read("x")


def test_a_missing_file_is_said_to_be_missing(directory: StateDirectory) -> None:
    with pytest.raises(FileNotFoundError):
        directory.read("x")


def test_a_file_that_comes_within_the_patience_is_read(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, clock=LateClock(tmp_path / "x"))
    assert directory.read_patiently("x") == b"late"
    directory.close()


def test_a_file_that_does_not_come_is_unreadable_after_the_patience(
    directory: StateDirectory, clock: FakeClock
) -> None:
    began = clock.monotonic()
    with pytest.raises(StateUnreadable):
        directory.read_patiently("x")
    assert READ_PATIENCE_SECONDS <= clock.monotonic() - began < READ_PATIENCE_SECONDS + 1


def test_a_part_is_read_with_the_size(directory: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    parts = [directory.read_from("x", offset, 4) for offset in (0, 8, 10, 99)]
    assert parts == [(b"0123", 10), (b"89", 10), (b"", 10), (b"", 10)]


def test_a_missing_directory_holds_nothing(directory: StateDirectory) -> None:
    assert directory.names("nowhere") == []


def test_only_the_first_publishes_a_name(directory: StateDirectory) -> None:
    assert directory.publish("1.json", b"first") is None
    assert isinstance(directory.publish("1.json", b"second"), FileExistsError)
    assert directory.read("1.json") == b"first"
    assert names(directory) == ["1.json"]


def test_a_name_can_not_be_published_over_a_planted_link(directory: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "1.json").symlink_to("elsewhere")
    assert directory.publish("1.json", b"x") is not None
    assert not (tmp_path / "elsewhere").exists()


class Observed:
    """The real calls into the disk, each noted with what it was about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        for name in ("write", "fsync", "fdatasync", "link", "replace"):
            monkeypatch.setattr(os, name, self._noted(name, getattr(os, name)))

    def _noted(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            of_directory = name == "fsync" and stat.S_ISDIR(os.fstat(cast("int", arguments[0])).st_mode)
            self.seen.append("fsync of the directory" if of_directory else name)
            return real(*arguments, **named)

        return call


def test_what_gets_a_name_is_whole_and_on_the_disk_before_and_the_name_after(
    directory: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:  # W22, W28
    disk = Observed(monkeypatch)
    assert directory.publish("1.json", b"record") is None
    assert disk.seen == ["write", "fsync", "link", "fsync of the directory"]
    disk.seen.clear()
    directory.replace("settled.json", b"record", durable=True)
    assert disk.seen == ["write", "fsync", "replace", "fsync of the directory"]
    disk.seen.clear()
    file = AppendFile(directory, "alice~2.jsonl")
    file.append(b"one")
    file.append(b"two")
    assert disk.seen == ["fsync of the directory", *("write", "fdatasync") * 2]


def test_replacing_leaves_no_temporary_file(directory: StateDirectory) -> None:
    directory.replace("x", b"one")
    directory.replace("x", b"two", durable=True)
    assert (directory.read("x"), names(directory)) == (b"two", ["x"])


def test_a_reader_keeps_the_file_that_it_opened(directory: StateDirectory, tmp_path: Path) -> None:
    directory.replace("x", b"one")
    with (tmp_path / "x").open("rb") as reader:
        directory.replace("x", b"two")
        assert reader.read() == b"one"


def test_a_write_into_a_missing_directory_is_unwritable(directory: StateDirectory) -> None:
    with pytest.raises(StateUnwritable):
        directory.replace("nowhere/x", b"")
    with pytest.raises(StateUnwritable):
        AppendFile(directory, "nowhere/x").append(b"")


def test_directories_are_made_with_their_parents(directory: StateDirectory, tmp_path: Path) -> None:
    for _ in range(2):
        directory.make(".team/members/alice")
    assert (tmp_path / ".team/members/alice").is_dir()


def test_a_directory_below_a_file_is_unwritable(directory: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(StateUnwritable):
        directory.make("x/y")


def test_a_link_is_replaced_at_once(directory: StateDirectory, tmp_path: Path) -> None:
    for target in ("a", "b"):
        directory.symlink(target, "link")
    assert ((tmp_path / "link").readlink().name, names(directory)) == ("b", ["link"])


def test_overwriting_keeps_the_file(directory: StateDirectory, tmp_path: Path) -> None:
    directory.overwrite("beat", b"0001")
    inode = (tmp_path / "beat").stat().st_ino
    directory.overwrite("beat", b"0002")
    assert ((tmp_path / "beat").read_bytes(), (tmp_path / "beat").stat().st_ino) == (b"0002", inode)


def test_a_hint_brings_its_directory_and_one_of_two_removes_it(directory: StateDirectory) -> None:
    directory.touch("ready/any/hint")
    assert [directory.unlink("ready/any/hint") for _ in range(2)] == [True, False]


def test_a_hint_below_a_file_is_unwritable(directory: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "ready").write_bytes(b"")
    with pytest.raises(StateUnwritable):
        directory.touch("ready/any/hint")


def test_an_appended_line_has_newlines_on_both_sides(directory: StateDirectory) -> None:
    file = AppendFile(directory, "x")
    ends = [file.append(b"one"), file.append(b"two")]
    file.close()
    assert directory.read("x") == b"\none\n\ntwo\n"
    assert ends == [5, 10]


def test_appending_goes_on_behind_a_torn_line(directory: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\ntor")
    assert AppendFile(directory, "x", durable=False).append(b"whole") == 11
    assert directory.read("x") == b"\ntor\nwhole\n"


def test_an_append_through_a_planted_link_is_refused(directory: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("elsewhere")
    with pytest.raises(StateUnwritable):
        AppendFile(directory, "x").append(b"line")
    assert not (tmp_path / "elsewhere").exists()


def test_a_line_torn_by_a_full_disk_can_be_repeated(directory: StateDirectory) -> None:
    file = AppendFile(directory, "x")
    file.append(b"one")
    with full_disk(after=10), pytest.raises(StateUnwritable):
        file.append(b"a line that does not fit")
    file.append(b"two")
    file.close()
    assert directory.read("x") == b"\none\n\na li\ntwo\n"


class full_disk:  # noqa: N801 - reads as what it makes
    """No file of this process grows beyond so many bytes."""

    def __init__(self, *, after: int) -> None:
        self._after = after

    def __enter__(self) -> None:
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._after, self._limits[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
        signal.signal(signal.SIGXFSZ, self._handler)


def test_on_a_shared_mount_a_name_that_was_missed_is_looked_for_in_the_listing(tmp_path: Path) -> None:
    class Stale(StateDirectory):
        def _mode(self, name: str) -> int | None:  # as NFS, for half a minute after it was missed
            assert name
            return None

    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "2.json").touch()
    assert Stale(tmp_path, is_shared=True).exists("log/2.json")
    assert not Stale(tmp_path, is_shared=True).exists("log/3.json")
    assert not Stale(tmp_path, is_shared=True).exists("nowhere/3.json")
