from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from coordination.errors import StateUnwritable
from harness.journal import Journal, read
from tests.support.model import JOURNAL

if TYPE_CHECKING:
    from coordination.team_root import Team


@pytest.fixture
def journal(team: Team) -> Journal:
    return Journal(team.directory, JOURNAL, team.clock, secrets=["sk-very-secret", 'quo"ted-secret', "ab"])


def raw(team: Team) -> str:
    return (team.root / JOURNAL).read_text(encoding="utf-8")


def plant(team: Team, text: str) -> None:
    with (team.root / JOURNAL).open("a", encoding="utf-8") as file:
        file.write(text)


def test_lines_are_numbered_and_dated(team: Team, journal: Journal) -> None:
    journal.append("user", text="go")
    line = journal.append("mail", text="news", source="bob~3", offset=0, end=90)
    assert line == {
        "n": 2,
        "at": "2026-01-02T03:04:05.000Z",
        "kind": "mail",
        "text": "news",
        "source": "bob~3",
        "offset": 0,
        "end": 90,
    }
    assert list(read(team.directory, JOURNAL))[1] == line


def test_many_lines_are_one_write_in_order(team: Team, journal: Journal) -> None:
    journal.append_all([("user", {"text": "a"}), ("mail", {"text": "b"})])
    journal.append("user", text="c")
    lines = [(line["n"], line["text"]) for line in read(team.directory, JOURNAL)]
    assert lines == [(1, "a"), (2, "b"), (3, "c")]


def test_a_journal_that_is_not_there_is_empty(team: Team) -> None:
    assert list(read(team.directory, JOURNAL)) == []


def test_a_torn_last_line_is_passed_over(team: Team, journal: Journal) -> None:
    journal.append("user", text="whole")
    plant(team, '{"n": 2, "kind": "assis')
    assert [line["text"] for line in read(team.directory, JOURNAL)] == ["whole"]


def test_what_follows_a_torn_line_is_read(team: Team, journal: Journal) -> None:
    plant(team, '{"n": 1, "kind": "us')
    journal.append("user", text="again")
    assert [line["text"] for line in read(team.directory, JOURNAL)] == ["again"]


def test_a_line_written_twice_counts_once(team: Team, journal: Journal) -> None:
    journal.append("user", text="once")
    plant(team, raw(team))
    assert [line["text"] for line in read(team.directory, JOURNAL)] == ["once"]


@pytest.mark.parametrize(
    "foreign",
    ["[]", "7", '{"kind": "user"}', '{"n": "x", "kind": "user"}', '{"n": 1}', "\x00", "[" * 100_000],
)
def test_a_foreign_line_is_passed_over(team: Team, journal: Journal, foreign: str) -> None:
    journal.append("user", text="mine")
    plant(team, foreign + "\n")
    assert len(list(read(team.directory, JOURNAL))) == 1


def test_secrets_are_not_written_in_any_form(team: Team, journal: Journal) -> None:
    journal.append("tool_results", content=[{"content": 'key sk-very-secret and quo"ted-secret'}])
    assert "secret" not in raw(team)
    assert raw(team).count("[redacted]") == 2
    assert list(read(team.directory, JOURNAL))


def test_a_secret_that_is_also_a_field_leaves_the_line_readable(team: Team) -> None:
    Journal(team.directory, JOURNAL, team.clock, secrets=["content"]).append(
        "assistant", content=["my content"]
    )
    assert next(read(team.directory, JOURNAL))["content"] == ["my [redacted]"]


def test_a_secret_too_short_to_tell_from_text_is_left(team: Team, journal: Journal) -> None:
    journal.append("user", text="ab")
    assert next(read(team.directory, JOURNAL))["text"] == "ab"


def test_text_that_no_file_can_hold_is_mended_before_it_is_sent_or_written(
    team: Team, journal: Journal
) -> None:
    line = journal.append("assistant", content=[{"text": "half \ud83d emoji", "\ud83d": 1}])
    assert line["content"] == [{"text": "half ? emoji", "?": 1}]
    assert next(read(team.directory, JOURNAL)) == line


def test_a_journal_that_cannot_be_written_says_so_and_takes_no_number(team: Team, journal: Journal) -> None:
    (team.root / JOURNAL).mkdir()
    with pytest.raises(StateUnwritable):
        journal.append("user", text="lost")
    (team.root / JOURNAL).rmdir()
    assert journal.append("user", text="kept")["n"] == 1


def test_each_line_is_one_line_of_json(team: Team, journal: Journal) -> None:
    journal.append("user", text="two\nlines")
    lines = [line for line in raw(team).split("\n") if line]
    assert [json.loads(line)["text"] for line in lines] == ["two\nlines"]
