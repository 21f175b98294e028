from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.preview import preview
from harness.results import ResultFiles

if TYPE_CHECKING:
    from coordination.team_root import Team


@pytest.fixture
def files(team: Team) -> ResultFiles:
    return ResultFiles(team.directory, "outputs/alice~7")


def test_the_whole_text_is_kept(files: ResultFiles, team: Team) -> None:
    path = files.write("call_1", "ä\n")
    assert path == files.directory / "call_1.txt" == team.root / "outputs/alice~7/call_1.txt"
    assert path.read_text(encoding="utf-8") == "ä\n"


def test_an_id_never_leads_out_of_the_directory(files: ResultFiles) -> None:  # W34
    assert files.write("../../etc/x", "a").parent == files.directory
    assert files.write("", "a").name == "call.txt"


def test_a_second_text_of_a_call_leaves_the_first(files: ResultFiles) -> None:  # W34
    paths = [files.write("call_1", text) for text in ("one", "two", "three")]
    assert [path.read_text() for path in paths] == ["one", "two", "three"]


def test_half_a_character_is_kept_as_a_replacement(files: ResultFiles) -> None:
    assert files.write("call_1", "a\ud800").read_text() == "a?"


def test_a_preview_shows_both_ends_and_says_what_is_left_out() -> None:
    assert preview("abcdefghij", 4) == "ab\n… 6 characters left out …\nij"
    assert preview("abcd", 4) == "abcd"
