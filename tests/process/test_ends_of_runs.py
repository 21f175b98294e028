"""How a run ends: waiting for a person, interrupted, terminated, unproven; and what it leaves alone (S20)."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from coordination.process import start_mark
from coordination.records import Status
from tests.support.team_process import SET_A, sleepers

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Command


WAITS_THEN_DOES = """
  - when: {tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - when: {tools_called: ^bash$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: write_file$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
WRITES_LATE = """
  - when: {tools_called: ^$}
    call: {bash: {command: 'sleep 300; echo late > @PLACE@/late'}}
"""
REACHES_OUT = """
  - when: {tools_called: ^$}
    call:
      - write_file: {path: '@ROOT@/a.py', content: spoilt}
      - edit_file: {path: '@ROOT@/a.py', old_text: a, new_text: spoilt}
      - write_file: {path: ../../a.py, content: spoilt}
  - when: {tools_called: write_file$}
    call: {complete_task: {summary: nothing was to be done}}
  - say: Done.
"""
ASKS = """
  - when: {tools_called: ^$}
    call: {send_message: {to: lead, content: 'how?'}}
  - say: I wait.
"""
HASTE = "1"  # seconds that a worker in a long call is given to stop


def hears(run: Command, times: int) -> bool:
    return run.process.poll() is not None or run.said("stopping the team") >= times


def test_without_a_person_the_proposal_is_printed_and_nobody_is_started(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    (stage.place / "tasks.yaml").write_text(json.dumps([SET_A]), encoding="utf-8")
    ended = stage.leadhand("run", "--tasks", str(stage.place / "tasks.yaml"), "--no-input", "--json")
    assert ended.code == 3
    assert [task["subject"] for task in ended.event("proposal")["tasks"]] == ["set a"]
    assert "--yes" in ended.complaint
    assert [member.state for member in stage.stores.roster.all()] == ["withdrawn"]
    stage.nobody_is_left()


def test_an_interrupted_start_leaves_no_process_and_the_task_as_it_was(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES, LEADHAND_STOP_PATIENCE_SECONDS=HASTE)
    run = stage.start_tasks(SET_A)
    stage.until("started")
    ended = run.signal(signal.SIGINT).end()
    assert ended.code == 130, ended
    stage.nobody_is_left()
    task = stage.task("set a")
    assert (task.status, task.owner, task.attempts) == (Status.PENDING, None, 0)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)], ids=str
)
def test_a_run_ends_in_order_however_often_it_is_told_to(
    staged: Stages, number: signal.Signals, code: int
) -> None:
    stage = staged(WAITS_THEN_DOES, LEADHAND_STOP_PATIENCE_SECONDS=HASTE)
    run = stage.start_tasks(SET_A)
    stage.until("claimed")
    for heard in (1, 2, 3):
        run.signal(number)
        stage.wait(partial(hears, run, heard), "the lead to hear it")
    ended = run.end()
    assert ended.code == code, ended
    assert ended.err == ""
    stage.nobody_is_left()
    newest = stage.stores.leadership.newest()
    assert newest
    assert newest[1].ended


def test_a_signal_to_a_teammate_ends_its_command_before_that_writes_anything(staged: Stages) -> None:
    # T14, W37
    stage = staged(WRITES_LATE, LEADHAND_STOP_PATIENCE_SECONDS=HASTE)
    run = stage.start_tasks(SET_A)
    stage.until("claimed")
    pid = stage.pid(stage.owner("set a"))
    stage.wait(lambda: bool(sleepers(pid)), "the command")
    (command,) = sleepers(pid)
    os.kill(pid, signal.SIGTERM)
    stage.until("closed")
    assert start_mark(command.pid) is None
    assert run.signal(signal.SIGTERM).end().code == 143
    assert not (stage.place / "late").exists()


def test_stop_leaves_nothing_of_a_team_whose_lead_was_killed(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    run = stage.start_tasks(SET_A)
    stage.until("model_call")
    run.signal(signal.SIGKILL).end()
    assert stage.leadhand("stop").code == 0
    stage.nobody_is_left()
    assert stage.task("set a").status is Status.CANCELLED


def test_a_check_that_nobody_defined_is_refused_before_anybody_starts(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    ended = stage.start_tasks({"key": "a", "subject": "set a", "checks": ["nope"]}).end()
    assert (ended.code, "no check is called 'nope'" in ended.complaint) == (2, True)
    assert stage.stores.roster.all() == []


def test_a_question_to_a_lead_without_a_model_holds_nothing_up(staged: Stages) -> None:
    stage = staged(ASKS)
    ended = stage.start_tasks(SET_A).end()
    assert ended.code == 1, ended
    assert stage.task("set a").status is Status.FAILED
    assert ended.event("told_lead")["text"] == "how?"


def test_a_terminated_run_ends_in_the_middle_and_resume_finishes_it(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES, LEADHAND_STOP_PATIENCE_SECONDS=HASTE)
    run = stage.start_tasks(SET_A)
    stage.until("model_call")
    ended = run.signal(signal.SIGTERM).end()
    assert ended.code == 143, ended
    assert ended.event("report")["open"] == [stage.task("set a").id]
    stage.nobody_is_left()
    stage.let_go()
    assert stage.leadhand("resume", "--yes", "--json").code == 0
    assert stage.task("set a").attempts == 0
    assert stage.task("set a").merged


def test_a_second_run_is_told_who_leads_and_where(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES, LEADHAND_STOP_PATIENCE_SECONDS=HASTE)
    run = stage.start_tasks(SET_A)
    stage.until("leads")
    second = stage.leadhand("run", "another goal", "--yes")
    assert second.code == 2
    assert f"process {run.process.pid} on " in second.complaint
    assert run.signal(signal.SIGTERM).end().code == 143


def test_s20_unproven_work_is_not_merged_and_nothing_reaches_the_persons_checkout(staged: Stages) -> None:
    stage = staged(REACHES_OUT)
    ended = stage.start_tasks({"key": "a", "subject": "reach out"}).end()
    assert ended.code == 3, ended
    assert len(stage.events("tool_failed")) + len(stage.events("tool_refused")) == 3
    task = stage.task("reach out")
    assert ended.event("report")["unverified"] == [task.id]
    assert (task.status, task.merged) == (Status.COMPLETED, None)
    assert (stage.root / "a.py").read_text(encoding="utf-8") == "a = 1\n"
