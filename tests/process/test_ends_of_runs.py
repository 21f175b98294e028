"""How a run ends: waiting for a person, interrupted, terminated, unproven; and what it leaves alone (S20)."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from coordination.records import Status

if TYPE_CHECKING:
    from tests.process.conftest import Stages

pytestmark = pytest.mark.process

WAITS_THEN_DOES = """
  - when: {tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - when: {tools_called: ^bash$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: write_file$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
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
SET_A = {"key": "a", "subject": "set a", "checks": ["done"]}


def test_without_a_person_the_proposal_is_printed_and_nobody_is_started(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    (stage.place / "tasks.yaml").write_text(json.dumps([SET_A]), encoding="utf-8")
    ended = stage.leadhand("run", "--tasks", str(stage.place / "tasks.yaml"), "--no-input", "--json")
    assert ended.code == 3
    assert [task["subject"] for task in ended.event("proposal")["tasks"]] == ["set a"]
    assert "--yes" in ended.complaint
    assert [member.state for member in stage.stores.roster.all()] == ["withdrawn"]
    assert stage.living() == []


def test_an_interrupted_run_leaves_no_process_and_resume_finishes_it(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    run = stage.start_tasks(SET_A)
    stage.until("model_call")
    ended = run.signal(signal.SIGINT).end()
    assert ended.code == 130, ended
    assert stage.living() == []
    task = stage.task("set a")
    assert (task.status, task.owner, task.attempts) == (Status.PENDING, None, 0)
    stage.let_go()
    assert stage.leadhand("resume", "--yes", "--json").code == 0
    assert stage.task("set a").merged


def test_a_terminated_run_ends_with_143_and_meanwhile_no_second_run_starts(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    run = stage.start_tasks(SET_A)
    stage.until("model_call")
    second = stage.leadhand("run", "another goal", "--yes")
    assert second.code == 2
    assert f"process {run.process.pid} on " in second.complaint
    ended = run.signal(signal.SIGTERM).end()
    assert ended.code == 143, ended
    assert ended.event("report")["open"] == [stage.task("set a").id]
    assert stage.living() == []


def test_work_that_nothing_proves_is_not_merged_and_waits_for_the_person(staged: Stages) -> None:
    stage = staged(WAITS_THEN_DOES)
    stage.let_go()
    stage.person.remember()
    ended = stage.start_tasks({"key": "a", "subject": "set a"}).end()
    assert ended.code == 3, ended
    task = stage.task("set a")
    assert ended.event("report")["unverified"] == [task.id]
    assert (task.status, task.merged) == (Status.COMPLETED, None)


def test_s20_a_worker_cannot_write_into_the_main_checkout(staged: Stages) -> None:
    stage = staged(REACHES_OUT)
    stage.person.remember()
    ended = stage.start_tasks({"key": "a", "subject": "reach out", "checks": ["any"]}).end()
    assert ended.code == 0, ended
    assert len(stage.events("tool_failed")) + len(stage.events("tool_refused")) == 3
    assert (stage.root / "a.py").read_text(encoding="utf-8") == "a = 1\n"
