"""A team that rests: nobody calls a model or takes a task, nobody loses one, and it goes on by a word."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from coordination.clock import SystemClock
from tests.process.test_ends_of_runs import WAITS_THEN_DOES
from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages


REST_SECONDS = 3.0  # a third of the TTL; without pause the task is done in less


def test_a_paused_team_calls_no_model_keeps_its_lease_and_goes_on(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    run = stage.start_tasks(SET_A, {"key": "b", "subject": "set b", "checks": ["any"]})
    stage.until("model_call")
    assert stage.leadhand("pause").out.startswith("the team rests; ")
    stage.let_go()
    stage.until("tool_ran")
    calls = len(stage.events("model_call"))
    assert "the team rests since" in stage.leadhand("status").out
    assert stage.leadhand("pause").out == "the team rests already\n"
    SystemClock().sleep(REST_SECONDS)  # nothing must happen, so there is nothing to wait for
    assert len(stage.events("model_call")) == calls
    assert len(stage.events("claimed")) == 1
    assert stage.leadhand("continue").out == "the team goes on\n"
    ended = run.end()
    assert ended.code == 0, ended
    assert stage.history("set a").count("claim") == 1


def test_a_paused_team_can_be_stopped(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    run = stage.start_tasks(SET_A)
    stage.until("model_call")
    assert stage.leadhand("pause").code == 0
    stage.let_go()
    stage.until("tool_ran")
    assert run.signal(signal.SIGTERM).end().code == 143
    assert stage.task("set a").attempts == 0
    stage.nobody_is_left()
