"""Teams that lose all their members, with or without their lead."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


WORK = """
  - when: {last_user: Somebody worked on this before, tools_called: ^$}
    call: {bash: {command: sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {last_result: outcome_unknown}
    call: {bash: {command: sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {tools_called: ^$}
    call: {bash: {command: 'echo half > half.txt; @WAIT@'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""


def until_half_done(stage: Stage) -> None:
    stage.until("model_call", tools=["bash"])
    stage.wait((stage.root / str(stage.task("set a").worktree) / "half.txt").exists)


@pytest.mark.parametrize(("restarts", "change"), [("0", "reclaim"), ("3", "resume")])
def test_the_only_member_of_a_run_without_a_model_is_replaced_or_comes_back(
    staged: Stages, restarts: str, change: str
) -> None:
    stage = staged(WORK, LEADHAND_WORKERS_RESTARTS=restarts)
    run = stage.start_tasks(SET_A)
    until_half_done(stage)
    os.kill(stage.pid("worker-1"), signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended
    assert {"reclaim", "resume"} & set(stage.history("set a")) == {change}
    assert stage.task("set a").merged


def test_resume_starts_members_anew_when_all_died_with_the_lead(staged: Stages) -> None:
    stage = staged(WORK)
    run = stage.start_tasks(SET_A)
    until_half_done(stage)
    run.signal(signal.SIGKILL).end()
    os.kill(stage.pid("worker-1"), signal.SIGKILL)
    ended = stage.leadhand("resume", "--workers", "1", "--json")
    assert ended.code == 0, ended
    assert stage.task("set a").merged
