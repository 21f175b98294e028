"""Runs that reach a limit: a visible state, a clean stop, exit code 4, and a way on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from coordination.records import Status
from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages


BUSY = """
  - when: {tools_called: ^$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: '^write_file( list_tasks){20}$'}
    call: {complete_task: {summary: a is 2}}
  - when: {tools_called: 'complete_task$'}
    say: Done.
  - call: {list_tasks: {}}
"""
OUT_OF_ROOM = "  - {say: and so on, stop_reason: max_tokens}"
TALKS = "  - call: {list_tasks: {}}"


def test_a_teammate_at_its_limit_gives_back_its_task_and_the_run_ends_with_4(staged: Stages) -> None:
    stage = staged(BUSY, LEADHAND_LIMITS_TASK_MAX_TURNS="6")
    ended = stage.start_tasks(SET_A).end()
    assert ended.code == 4, ended
    task = stage.task("set a")
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert len(stage.events("model_call")) == 6
    assert stage.events("limit_reached")[0]["scope"] == "task"
    assert "limits.task.max_turns 6 (6 used)" in ended.event("report")["cut_short"]
    stage.nobody_is_left()
    del stage.environment["LEADHAND_LIMITS_TASK_MAX_TURNS"]
    assert stage.leadhand("resume").code == 0
    assert stage.task("set a").status is Status.COMPLETED


def test_a_lead_at_the_limit_of_the_command_line_ends_with_4_and_money_is_shown(staged: Stages) -> None:
    stage = staged(TALKS, LEADHAND_PRICES="scripted 1000 1000")
    ended = stage.leadhand("run", "talk", "--yes", "--max-usd", "3")
    assert ended.code == 4, ended
    assert "cut short: a limit is reached: limits.team.max_usd 3" in ended.out
    assert "`leadhand resume` goes on" in ended.out
    facts = json.loads(stage.leadhand("usage", "--json").out)
    usd = [turn["usage"]["input_tokens"] for turn in facts["turns"]]
    assert facts["team"]["usd"] >= 3
    assert facts["requests"]["lead"]["tools"] > 1000
    assert len(usd) == facts["team"]["turns"] == facts["members"]["lead"]["turns"]
    again = stage.leadhand("resume", "--yes")
    assert again.code == 4, again
    assert "limits.team.max_usd 3" in again.out


def test_a_reply_that_is_asked_for_once_more_with_more_room_is_a_call_of_its_own(staged: Stages) -> None:
    stage = staged(OUT_OF_ROOM, LEADHAND_LIMITS_TEAM_MAX_TURNS="3")
    ended = stage.leadhand("run", "talk", "--yes")
    assert ended.code == 4, ended
    assert "limits.team.max_turns 3 (3 used)" in ended.out
    turns = json.loads(stage.leadhand("usage", "--json").out)["turns"]
    assert [turn["usage"]["calls"] for turn in turns] == [2, 1]


def test_a_limit_in_money_without_a_price_refuses_to_start(staged: Stages) -> None:
    stage = staged(TALKS)
    ended = stage.leadhand("run", "talk", "--yes", "--max-usd", "3")
    assert ended.code == 2
    assert 'prices: ["scripted INPUT OUTPUT"]' in ended.err
