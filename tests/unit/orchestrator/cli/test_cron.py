"""The schedule by command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.protocols import PERSON
from coordination.schedule_rules import EntryState, Rank
from coordination.stores import open_stores
from orchestrator.cli.main import main

if TYPE_CHECKING:
    from coordination.schedule import Schedule
    from coordination.team_root import Team


@pytest.fixture
def schedule(team: Team, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    monkeypatch.chdir(team.root)
    return open_stores(team, PERSON).schedule


def leadhand(team: Team, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["cron", "--team", str(team.root), *arguments])
    return int(str(ended.value.code))


def test_a_person_adds_sees_and_cancels(
    team: Team, schedule: Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        leadhand(team, "add", "0 9 * * 1-5", "write the report", "--tz", "UTC", "--missed", "run_once") == 0
    )
    (entry,) = schedule.all()
    assert (entry.rank, entry.made_by, entry.prompt) == (Rank.REQUEST, "person", "write the report")
    assert leadhand(team) == 0
    assert f"{entry.id} cron '0 9 * * 1-5' (next " in capsys.readouterr().out
    assert leadhand(team, "cancel", entry.id) == 0
    assert schedule.get(entry.id).state is EntryState.CANCELLED
    capsys.readouterr()
    assert leadhand(team, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "cancelled"


@pytest.mark.parametrize("when", [["--in-minutes", "3"], ["--at", "2099-01-01T09:00", "--tz", "UTC"]])
def test_a_one_shot_needs_no_expression(team: Team, schedule: Schedule, when: list[str]) -> None:
    assert leadhand(team, "add", "the meeting", *when) == 0
    assert (schedule.all()[0].recurring, schedule.all()[0].cron) == (False, None)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["add", "the meeting"], "say when"),
        (["add", "* * * * *", "x", "--in-minutes", "3"], "one of them"),
        (["add", "* * * *", "x"], "five fields are needed"),
        (["add", "* * * * *", " "], "the prompt is empty"),
        (["cancel", "cron_00000000"], "there is no schedule cron_00000000"),
        (["next", "61 * * * *"], "there is no such minute"),
    ],
    ids=str,
)
def test_what_cannot_be_is_one_line_and_exit_code_2(
    team: Team, schedule: Schedule, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert leadhand(team, *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line
    assert schedule.all() == []


def test_a_bad_entry_is_told_beside_the_rest(
    team: Team, schedule: Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    leadhand(team, "add", "the meeting", "--in-minutes", "3")
    planted = team.root / layout.schedule_log("cron_0000000b")
    planted.mkdir()
    (planted / "1.json").write_text("{torn", encoding="utf-8")
    capsys.readouterr()
    assert leadhand(team) == 0
    shown = capsys.readouterr()
    assert "cron_0000000b cannot be read" in shown.err
    assert schedule.all()[0].id in shown.out


def test_next_prints_fire_times_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(
            ["cron", "next", "30 1 * * *", "--tz", "America/New_York", "--from", "2026-10-31T12:00", "--json"]
        )
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out) == [
        "2026-11-01T01:30:00-04:00",
        "2026-11-02T01:30:00-05:00",
        "2026-11-03T01:30:00-05:00",
    ]
