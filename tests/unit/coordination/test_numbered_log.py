"""The numbered log under planted names, lost replies, full disks and contention."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from coordination.errors import InvalidRecord, NewerFormat, StateUnreadable, StateUnwritable, TeamError
from coordination.files import READ_PATIENCE_SECONDS, StateDirectory
from coordination.numbered_log import NumberedLog, digest, pretty, seal
from tests.support.adding_log import NAME, PATH, add, adding_log, sealed
from tests.support.faulty_directory import Fault, FaultyDirectory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.clock import FakeClock

Log = NumberedLog[tuple[int, ...]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def directory(root: Path, clock: FakeClock) -> FaultyDirectory:
    return FaultyDirectory(root, clock=clock)


@pytest.fixture
def log(directory: FaultyDirectory) -> Log:
    return adding_log(directory)


def place(root: Path, number: int) -> Path:
    path = root / PATH / f"{number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def fresh(root: Path) -> Log:
    reader = adding_log(StateDirectory(root))
    reader.refresh()
    return reader


# what a log is


def test_an_empty_log_has_no_state(log: Log) -> None:
    assert log.refresh() is None
    assert (log.top, log.newest) == (0, None)


def test_commits_count_from_one_and_name_what_they_were_made_from(log: Log, root: Path) -> None:
    assert (add(log, 5), add(log, 7)) == ((5,), (5, 7))
    assert [(record.number, record.prev) for record in fresh(root).records()] == [(1, 0), (2, 1)]


def test_a_draft_is_told_the_number_it_will_have(log: Log) -> None:
    add(log, 1)
    assert log.commit(lambda _state, number: {"add": number * 10}) == (1, 20)


def test_a_record_is_indented_and_begins_with_its_body(log: Log, root: Path) -> None:
    add(log, 5)
    text = place(root, 1).read_text(encoding="utf-8")
    assert text.startswith('{\n  "add": 5,\n  "format": 1,')
    assert text.endswith("}\n")


def test_layout_does_not_count_for_the_digest(log: Log, root: Path) -> None:
    add(log, 5)
    document = json.loads(place(root, 1).read_text(encoding="utf-8"))
    place(root, 1).write_text(json.dumps(document, sort_keys=True), encoding="utf-8")
    assert fresh(root).state == (5,)


def test_unknown_fields_count_for_the_digest(log: Log, root: Path) -> None:
    add(log, 5)
    document = json.loads(place(root, 1).read_text(encoding="utf-8")) | {"note": "mine"}
    place(root, 1).write_text(json.dumps(document), encoding="utf-8")
    assert fresh(root).state is None


def test_a_body_cannot_overwrite_the_envelope(log: Log, root: Path) -> None:
    log.commit(lambda _state, _number: {"add": 3, "number": 99, "log": "other", "digest": "x"})
    assert fresh(root).state == (3,)


def test_a_draft_that_raises_writes_nothing(log: Log, root: Path) -> None:
    def give_up(_state: object, _number: int) -> dict[str, Any]:
        raise InvalidRecord(why="changed my mind")

    with pytest.raises(InvalidRecord, match="changed my mind"):
        log.commit(give_up)
    assert not (root / PATH).exists()


def test_a_body_against_the_rules_is_refused_and_not_written(log: Log, root: Path) -> None:
    with pytest.raises(InvalidRecord, match="adds nothing"):
        add(log, 0)
    assert not place(root, 1).exists()


def test_no_temporary_file_is_left(log: Log, root: Path) -> None:
    add(log, 1)
    add(log, 2)
    assert sorted(path.name for path in (root / PATH).iterdir()) == ["1.json", "2.json"]


# planted names


def plant_pipe(path: Path) -> None:
    os.mkfifo(path)


def plant_closed_pipe(path: Path) -> None:
    os.mkfifo(path)
    path.chmod(0)


def plant_directory(path: Path) -> None:
    path.mkdir()


def plant_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def plant_link_to_a_record(path: Path) -> None:
    other = path.with_name("elsewhere")
    other.write_bytes(sealed(9, number=int(path.stem), prev=1))
    path.symlink_to(other)


def bytes_planter(make: Callable[[int], bytes]) -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        path.write_bytes(make(int(path.stem)))

    return plant


PLANTED: dict[str, Callable[[Path], None]] = {
    "pipe": plant_pipe,
    "pipe nobody may open": plant_closed_pipe,
    "directory": plant_directory,
    "dangling link": plant_dangling_link,
    "link to a record": plant_link_to_a_record,
    "empty": bytes_planter(lambda _: b""),
    "no JSON": bytes_planter(lambda _: b"hello"),
    "truncated": bytes_planter(lambda n: sealed(9, number=n, prev=n - 1)[:-20]),
    "not UTF-8": bytes_planter(lambda _: b'{"format": 1, "\xff": 1}'),
    "too deep": bytes_planter(lambda _: b"[" * 100_000),
    "array": bytes_planter(lambda _: b"[1]"),
    "null": bytes_planter(lambda _: b"null"),
    "no format": bytes_planter(lambda _: b"{}"),
    "format without a digest": bytes_planter(lambda _: b'{"format": 2}'),
    "copy of another log's record": bytes_planter(lambda n: sealed(9, number=n, prev=n - 1, name="adding/x")),
    "copy of the record before": bytes_planter(lambda n: sealed(9, number=n - 1, prev=n - 2)),
    "made from another number": bytes_planter(lambda n: sealed(9, number=n, prev=n + 5)),
    "wrong digest": bytes_planter(lambda n: sealed(9, number=n, prev=n - 1, digest="0" * 64)),
    "changed after sealing": bytes_planter(lambda n: sealed(9, number=n, prev=n - 1, add=10)),
    "against the rules": bytes_planter(lambda n: sealed(-9, number=n, prev=n - 1)),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
def test_what_is_planted_on_a_number_does_not_count_and_squats_nothing(
    plant: Callable[[Path], None], log: Log, root: Path
) -> None:
    add(log, 1)
    plant(place(root, 2))
    assert add(log, 3) == (1, 3)
    reader = fresh(root)
    assert (reader.state, reader.top, list(reader.invalid)) == ((1, 3), 3, [2])
    assert reader.newest is not None
    assert reader.newest.prev == 1


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
def test_the_first_number_cannot_be_squatted_either(
    plant: Callable[[Path], None], log: Log, root: Path
) -> None:
    plant(place(root, 1))
    assert add(log, 3) == (3,)
    assert fresh(root).state == (3,)


def test_a_row_of_squatted_numbers_is_passed_over(log: Log, root: Path) -> None:
    for number in range(1, 40):
        place(root, number).write_bytes(b"squatted")
    assert add(log, 3) == (3,)
    assert fresh(root).top == 40


def test_a_far_ahead_number_does_not_count_until_the_row_reaches_it(log: Log, root: Path) -> None:
    add(log, 1)
    place(root, 4).write_bytes(sealed(9, number=4, prev=3))
    assert fresh(root).state == (1,)
    add(log, 2)
    add(log, 3)
    assert fresh(root).state == (1, 2, 3, 9)


def test_a_far_ahead_number_made_from_an_old_state_never_counts(log: Log, root: Path) -> None:
    add(log, 1)
    place(root, 3).write_bytes(sealed(9, number=3, prev=1))
    assert add(log, 2) == (1, 2)
    assert add(log, 4) == (1, 2, 4)
    assert fresh(root).top == 4


def test_a_newer_format_stops_readers_and_writers_and_names_it(log: Log, root: Path) -> None:
    document = seal(NAME, {"add": 9}, number=1, prev=0, commit_id="c") | {"format": 7}
    place(root, 1).write_bytes(pretty(document | {"digest": digest(document)}))
    for act in (log.refresh, lambda: add(log, 1)):
        with pytest.raises(NewerFormat, match=r"1\.json has format 7"):
            act()
    assert not place(root, 2).exists()


def test_names_that_are_no_numbers_are_not_looked_at(log: Log, root: Path) -> None:
    for name in ("0.json", "01.json", "-1.json", "1.json.bak", ".tmp~x"):
        (place(root, 1).parent / name).write_text("junk", encoding="utf-8")
    assert add(log, 1) == (1,)
    assert not fresh(root).invalid


def test_a_file_in_the_place_of_the_log_is_an_error_that_names_it(log: Log, root: Path) -> None:
    (root / ".team").mkdir()
    (root / PATH).write_text("", encoding="utf-8")
    assert log.refresh() is None
    with pytest.raises(StateUnwritable, match=PATH):
        add(log, 1)


# a disk or mount that fails


def test_a_lost_reply_is_decided_by_reading_the_number(
    log: Log, directory: FaultyDirectory, root: Path
) -> None:
    directory.make(PATH)
    directory.faults = [Fault.LOST_REPLY, Fault.LOST_REPLY]
    assert (add(log, 1), add(log, 2)) == ((1,), (1, 2))
    assert fresh(root).state == (1, 2)


def test_a_lost_reply_of_a_link_that_another_won_starts_again(directory: FaultyDirectory, root: Path) -> None:
    ours, theirs = adding_log(directory), fresh(root)
    ours.refresh()

    def draft(state: tuple[int, ...] | None, _: int) -> dict[str, Any]:
        if state is None:
            add(theirs, 7)  # between our look and our link
            directory.faults = [Fault.LOST_REPLY]
        return {"add": 1}

    assert ours.commit(draft) == (7, 1)


def test_one_failing_write_is_tried_again(log: Log, directory: FaultyDirectory, root: Path) -> None:
    directory.faults = [Fault.FULL_DISK]
    assert add(log, 1) == (1,)
    assert fresh(root).state == (1,)


def test_a_full_disk_is_told_and_changes_nothing(log: Log, directory: FaultyDirectory, root: Path) -> None:
    add(log, 1)
    directory.faults = [Fault.FULL_DISK] * 5
    with pytest.raises(StateUnwritable, match="free space"):
        add(log, 2)
    assert fresh(root).state == (1,)
    assert add(log, 2) == (1, 2)


def test_a_record_that_comes_back_within_the_patience_counts(
    log: Log, directory: FaultyDirectory, root: Path
) -> None:
    add(fresh(root), 1)
    directory.unreadable[f"{PATH}/1.json"] = 10
    assert log.refresh() == (1,)


def test_an_unreadable_record_is_never_taken_for_invalid(
    log: Log, directory: FaultyDirectory, root: Path
) -> None:
    add(fresh(root), 1)
    directory.unreadable[f"{PATH}/1.json"] = 10_000
    with pytest.raises(StateUnreadable):
        add(log, 2)
    assert not log.invalid
    assert not place(root, 2).exists()


def test_an_invalid_record_is_believed_only_after_a_second_read(root: Path) -> None:
    class TornOnce(StateDirectory):
        torn = True

        def read(self, name: str) -> bytes:
            data = super().read(name)
            torn, self.torn = self.torn, False
            return data[:-10] if torn else data

    add(fresh(root), 1)
    log = adding_log(TornOnce(root))
    assert log.refresh() == (1,)
    assert not log.invalid


# several writers


def test_each_number_has_one_winner_among_contending_writers(root: Path) -> None:
    writers, each, errors = 6, 12, []
    barrier = threading.Barrier(writers)

    def write(writer: int) -> None:
        log = adding_log(StateDirectory(root))
        barrier.wait()
        try:
            for turn in range(each):
                add(log, writer * 100 + turn + 1)
        except TeamError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = fresh(root).state or ()
    assert not errors
    assert sorted(state) == sorted(w * 100 + turn + 1 for w in range(writers) for turn in range(each))
    for writer in range(writers):
        own = [added for added in state if added // 100 == writer]
        assert own == sorted(own)


def test_a_won_number_stands_even_when_later_numbers_already_do(
    directory: FaultyDirectory, root: Path
) -> None:
    """The loser of a race may build on the winner before the winner has returned."""
    directory.make(PATH)
    log, other = adding_log(directory), fresh(root)

    class Overtaken(FaultyDirectory):
        def publish(self, name: str, data: bytes) -> OSError | None:
            result = super().publish(name, data)
            add(other, 9)
            return result

    log = adding_log(Overtaken(root))
    assert add(log, 1) == (1,)
    assert log.refresh() == (1, 9)


def test_a_lost_reply_with_later_numbers_on_it_is_still_a_win(root: Path) -> None:
    other = fresh(root)

    class OvertakenWithoutReply(FaultyDirectory):
        def publish(self, name: str, data: bytes) -> OSError | None:
            super().publish(name, data)
            add(other, 9)
            return OSError(5, "reply lost")

    log = adding_log(OvertakenWithoutReply(root))
    assert add(log, 1) == (1,)
    assert log.refresh() == (1, 9)


# on a shared mount


class CutShort(StateDirectory):
    """For a while other hosts see less of a file than was written, as on GlusterFS for up to a second."""

    left = 20

    def read(self, name: str) -> bytes:
        self.left -= 1
        return super().read(name)[: 50 if self.left > 0 else None]


def test_a_record_that_looks_cut_short_to_another_host_is_read_until_it_is_whole(
    root: Path, clock: FakeClock
) -> None:
    adding_log(StateDirectory(root)).commit(lambda *_: {"add": 3})
    assert adding_log(CutShort(root, clock=clock, is_shared=True)).refresh() == (3,)
    assert adding_log(CutShort(root, clock=clock)).refresh() is None  # on a disk it is whole at once


def test_on_a_shared_mount_too_a_record_that_stays_invalid_is_believed_in_the_end(
    root: Path, clock: FakeClock
) -> None:
    place(root, 1).write_bytes(b'{"add": ')
    log, began = adding_log(StateDirectory(root, clock=clock, is_shared=True)), clock.monotonic()
    assert log.refresh() is None
    assert log.invalid.keys() == {1}
    assert clock.monotonic() - began < 2 * READ_PATIENCE_SECONDS
    log.refresh()
    assert clock.monotonic() - began < 2 * READ_PATIENCE_SECONDS
