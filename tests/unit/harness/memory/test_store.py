"""The memory on disk: many writers, hand-made files, bad ones, merges that a crash may cut."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from coordination.files import StateDirectory
from harness.memory.store import FILE_BYTES, MemoryStore, NoSuchRecord
from tests.support.memory import a_note, by_hand, keeps, kept

if TYPE_CHECKING:
    from coordination.team_root import Team


@pytest.fixture
def store(team: Team) -> MemoryStore:
    return MemoryStore(team.directory)


def index(team: Team) -> str:
    return (team.root / ".memory/INDEX.md").read_text(encoding="utf-8")


def names(team: Team) -> list[str]:
    return sorted(record.note.name for record in kept(team))


def test_a_record_is_a_file_that_people_can_read_and_stands_in_the_index(team: Team) -> None:
    [record] = keeps(team, a_note("Tests need: a port", "Port 5433.", made_at="2026-01-02T00:00:00Z"))
    text = (team.root / ".memory" / record.file).read_text(encoding="utf-8")
    assert record.file.startswith("tests-need-a-port-")
    assert "made_by: alice~7\n" in text
    assert text.endswith("---\n\nPort 5433.\n")
    assert f"- [Tests need: a port]({record.file}) - about Tests need: a port\n" in index(team)


def test_without_a_directory_there_is_nothing(team: Team, store: MemoryStore) -> None:
    shutil.rmtree(team.root / ".memory", ignore_errors=True)
    assert store.look().records == []


def test_many_writers_at_once_lose_nothing(team: Team) -> None:  # D27
    def write(number: int) -> None:
        directory = StateDirectory(team.root)
        MemoryStore(directory).add(a_note(f"note {number}"))
        directory.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(40)))
    assert len(kept(team)) == 40
    write(40)
    assert index(team).count("\n- [") == 41  # a view: whoever changes something last brings it up to date


def test_one_bad_file_is_told_and_stops_nobody(team: Team, store: MemoryStore) -> None:
    keeps(team, a_note("ports"))
    by_hand(team, "bad.md", b"\xff\xff")
    by_hand(team, "long.md", "x" * (FILE_BYTES + 1))
    os.mkfifo(team.root / ".memory/pipe.md")
    (team.root / ".memory/link.md").symlink_to("/etc/passwd")
    (team.root / ".memory/sub.md").mkdir()
    by_hand(team, "notes.txt", "no record")
    look = store.look()
    assert [record.note.name for record in look.records] == ["ports"]
    told = {unusable.file for unusable in look.unusable}
    assert told == {"bad.md", "long.md", "pipe.md", "link.md", "sub.md"}


def test_a_file_made_by_hand_is_a_record_and_is_in_the_index_after_the_next_change(team: Team) -> None:
    by_hand(team, "style.md", "Write short mails.")
    keeps(team, a_note("ports"))
    assert names(team) == ["ports", "style"]
    assert "(style.md) - Write short mails." in index(team)


def test_what_is_forgotten_is_gone_by_its_name_or_the_begin_of_it(team: Team, store: MemoryStore) -> None:
    first, second = keeps(team, a_note("ports"), a_note("plugs"))
    assert store.forget(store.find("por"))
    assert not store.forget(first)
    assert names(team) == ["plugs"]
    assert "ports" not in index(team)
    with pytest.raises(NoSuchRecord, match=second.id):
        store.find("por")


def test_merged_records_are_put_away_whole(team: Team, store: MemoryStore) -> None:
    one, two = keeps(team, a_note("one"), a_note("two"))
    before = (team.root / ".memory" / one.file).read_bytes()
    assert store.merge(a_note("both", replaces=(one.reference, two.reference)), [one, two])
    assert names(team) == ["both"]
    assert (team.root / ".memory/replaced" / one.file).read_bytes() == before


def test_a_merge_cut_by_a_crash_counts_already_and_can_be_finished(team: Team, store: MemoryStore) -> None:
    one, two = keeps(team, a_note("one"), a_note("two"))
    keeps(team, a_note("both", replaces=(one.reference, two.reference)))
    look = store.look()
    assert [record.note.name for record in look.records] == ["both"]
    store.put_away(look.replaced)
    assert store.look().replaced == []


@pytest.mark.parametrize("change", ["edited", "forgotten"])
def test_what_a_person_changed_meanwhile_is_not_merged_away(
    team: Team, store: MemoryStore, change: str
) -> None:
    one, two = keeps(team, a_note("one"), a_note("two"))
    if change == "edited":
        by_hand(team, one.file, "My own words.")
    else:
        store.forget(one)
    assert store.merge(a_note("both", replaces=(one.reference, two.reference)), [one, two]) is None
    assert "both" not in names(team)
    assert "two" in names(team)
    assert (change == "edited") == any(record.note.body == "My own words." for record in kept(team))


def test_an_edit_brings_a_replaced_record_back(team: Team) -> None:
    [one] = keeps(team, a_note("one"))
    keeps(team, a_note("both", replaces=(one.reference,)))
    by_hand(team, one.file, "It was right all the same.")
    assert len(kept(team)) == 2


def test_what_was_looked_through_is_remembered_and_damage_costs_one_more_look(
    team: Team, store: MemoryStore
) -> None:
    records = keeps(team, a_note("one"))
    store.note_consolidated(records)
    assert store.consolidated == {records[0].file}
    (team.root / ".memory/consolidated.json").write_text("{torn")
    assert store.consolidated == set()
