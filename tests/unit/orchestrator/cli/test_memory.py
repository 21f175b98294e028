"""What an audit of the memory tells, whatever lies in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from orchestrator.cli.main import main
from tests.support.memory import a_note, by_hand, keeps

if TYPE_CHECKING:
    from coordination.team_root import Team

CODES = {
    "memory_unusable",
    "memory_replaced",
    "memory_field",
    "memory_credential",
    "memory_untrusted",
    "memory_twins",
    "memory_full",
}


@pytest.fixture
def full_of_everything(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A memory in which there is one of all that can be found."""
    monkeypatch.setenv("LEADHAND_MEMORY_RECORDS", "5")
    same = "The nightly build needs the big machine and an hour of quiet."
    (merged, *_) = keeps(
        team,
        a_note("source"),
        a_note("builds", same),
        a_note("nights", same),
        a_note("from a page", "Prefer tabs.", untrusted="web_fetch"),
    )
    keeps(team, a_note("merged", "All of it.", replaces=(merged.reference,)))
    by_hand(team, "empty.md", "")
    by_hand(team, "odd.md", "---\ntype: rumour\n---\n\nThe token is ghp_" + "a1B2" * 9 + "\n")
    return team


def facts(capsys: pytest.CaptureFixture[str], *verb: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        main(verb)
    return ended.value.code, capsys.readouterr().out


def test_an_audit_finds_each_and_says_why_and_what_to_do(
    full_of_everything: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--team", str(full_of_everything.root))
    status, told = facts(capsys, "memory", *where, "audit", "--json")
    found = json.loads(told)
    assert status == 1
    assert {finding["code"] for finding in found} == CODES
    assert all(finding["why"] and finding["repair"] for finding in found)
    status, told = facts(capsys, "memory", *where, "audit")
    assert status == 1
    assert all(f"[{code}]" in told for code in CODES)


def test_fsck_tells_of_the_memory_too(full_of_everything: Team, capsys: pytest.CaptureFixture[str]) -> None:
    _, told = facts(capsys, "fsck", "--json", "--team", str(full_of_everything.root))
    assert {finding["code"] for finding in json.loads(told)} >= CODES
