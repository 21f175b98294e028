from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.errors import StateUnwritable
from coordination.own_files import OwnFileUnusable
from harness.trust.records import NotTrusted, Place, TrustRecords
from harness.trust.repository_files import RepositoryFiles

if TYPE_CHECKING:
    from pathlib import Path

ONE = RepositoryFiles(texts={"leadhand.yaml": "checks: {}\n"})
TWO = RepositoryFiles(texts={"leadhand.yaml": "checks: {a: b}\n", "AGENTS.md": "x"})
AT = "2026-01-01T00:00:00Z"


@pytest.fixture
def records(tmp_path: Path) -> TrustRecords:
    return TrustRecords(tmp_path / "trust")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "a").mkdir()
    return Place(root=tmp_path / "a", repository=tmp_path / "a")


def test_files_that_nobody_has_seen_are_refused_with_the_command(records: TrustRecords, place: Place) -> None:
    with pytest.raises(
        NotTrusted, match=r"leadhand.yaml was never shown to you.*`leadhand trust` shows"
    ) as no:
        records.check(ONE, place)
    assert no.value.exit_code == 2
    records.check(RepositoryFiles(texts={}), place)


def test_the_word_holds_for_the_files_as_they_are(records: TrustRecords, place: Place) -> None:
    records.keep(ONE, place, at=AT)
    records.check(ONE, place)
    with pytest.raises(NotTrusted, match=r"AGENTS.md, leadhand.yaml changed since you trusted them"):
        records.check(TWO, place)
    records.keep(TWO, place, at=AT)
    records.check(TWO, place)
    with pytest.raises(NotTrusted):
        records.check(ONE, place)


def test_the_word_holds_for_one_place_however_it_is_named(
    records: TrustRecords, place: Place, tmp_path: Path
) -> None:
    records.keep(ONE, place, at=AT)
    (tmp_path / "link").symlink_to(place.root)
    records.check(ONE, Place(root=tmp_path / "link", repository=tmp_path / "link"))
    (tmp_path / "b").mkdir()
    for other in (
        Place(root=tmp_path / "b", repository=tmp_path / "b"),
        Place(root=tmp_path / "b", repository=place.repository),
    ):
        with pytest.raises(NotTrusted):
            records.check(ONE, other)
    assert Place(root=tmp_path / "b", repository=place.repository).command.endswith(
        f"--team {tmp_path / 'b'}"
    )


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"format": 1}'])
def test_a_record_that_cannot_be_read_is_one_line(records: TrustRecords, place: Place, data: bytes) -> None:
    path = records.keep(ONE, place, at=AT)
    path.write_bytes(data)
    with pytest.raises(OwnFileUnusable, match=r"no record of leadhand; remove it, then .*`leadhand trust`"):
        records.check(ONE, place)


def test_a_record_that_was_changed_does_not_count(records: TrustRecords, place: Place) -> None:
    path = records.keep(ONE, place, at=AT)
    path.write_bytes(path.read_bytes().replace(b"checks: {}", b"checks: {x: y}"))
    with pytest.raises(OwnFileUnusable, match="it was changed"):
        records.check(ONE, place)


def test_a_store_that_others_may_write_does_not_count(
    records: TrustRecords, place: Place, tmp_path: Path
) -> None:
    records.keep(ONE, place, at=AT)
    (tmp_path / "trust").chmod(0o777)
    with pytest.raises(OwnFileUnusable, match="others may write it"):
        records.check(ONE, place)


def test_where_nothing_can_be_kept_it_is_said(place: Place, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    records = TrustRecords(tmp_path / "home" / "trust")
    with pytest.raises(NotTrusted):
        records.check(ONE, place)
    with pytest.raises(StateUnwritable, match="cannot write"):
        records.keep(ONE, place, at=AT)
