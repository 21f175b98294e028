"""Members whose process dies (scenarios S9 and S15)."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.process.conftest import Stages


TAKEN_OVER = """
  - when: {last_user: Somebody worked on this before, tools_called: ^$}
    call: {bash: {command: sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {tools_called: ^$}
    call: {bash: {command: 'echo half > half.txt; @WAIT@'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
SHUT_DOWN = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: long, description: It takes long., checks: [any]}
      - spawn_teammate: {name: ana}
  - when: {system: role=lead, last_user: from="person, tools_called: spawn_teammate$}
    delay_seconds: 4
    call: {request_shutdown: {teammate: ana}}
  - when: {system: role=teammate}
    call: {bash: {command: '@WAIT@'}}
  - say: Good.
"""


def test_s9_the_task_of_a_killed_worker_is_finished_by_another_and_the_lead_is_told(
    staged: Stages,
) -> None:  # W18
    stage = staged(TAKEN_OVER, LEADHAND_WORKERS_RESTARTS="0")
    run = stage.start_tasks({"key": "a", "subject": "set a", "checks": ["done"]}, workers=2)
    stage.until("model_call", tools=["bash"])
    victim = stage.owner("set a")
    half = stage.root / str(stage.task("set a").worktree) / "half.txt"
    stage.wait(half.exists)
    os.kill(stage.pid(victim), signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended
    assert ended.event("member_lost")["member"] == victim
    assert stage.owner("set a") != victim
    assert stage.history("set a").count("reclaim") == 1
    assert stage.task("set a").merged
    assert half.read_text(encoding="utf-8") == "half\n"


def test_s15_a_shutdown_of_a_dead_worker_is_answered_at_once_and_its_task_is_released(staged: Stages) -> None:
    stage = staged(SHUT_DOWN, LEADHAND_WORKERS_RESTARTS="0")
    run = stage.start("run", "take long", "--yes", "--json")
    stage.until("model_call", tools=["bash"])
    assert stage.leadhand("send", "lead", "shut ana down").code == 0
    stage.wait(lambda: any(line["kind"] == "mail" for line in stage.journal("lead~1")))
    os.kill(stage.pid("ana"), signal.SIGKILL)  # while the lead's model thinks
    ended = run.end()
    assert ended.code == 1, ended
    results = [
        line["content"][0]["content"] for line in stage.journal("lead~1") if line["kind"] == "tool_results"
    ]
    assert "ana is already gone" in results[-1]
    assert "reclaim" in stage.history("long")
