"""Background commands of real teammates: waited for without a model call, and over with their agent."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from coordination.background import HowEnded, JobState

if TYPE_CHECKING:
    from tests.process.conftest import Stages


WAITS = """
  - when: {tools_called: ^$}
    call: {bash: {command: '@WAIT@; echo installed', run_in_background: true}}
  - when: {tools_called: ^bash$, last_user: 'task_notification id="(?P<id>\\S+)" status="completed"'}
    call: {bash: {command: 'echo a = 2 >a.py'}}
  - when: {tools_called: ^bash$}
    say: I wait for the end of it.
  - when: {tools_called: ^bash bash$}
    call: {complete_task: {summary: done after the installation}}
  - say: Done.
"""
LEAVES = """
  - when: {tools_called: ^$}
    call: {bash: {command: 'sleep 300', run_in_background: true}}
  - when: {tools_called: ^bash$}
    call: {complete_task: {summary: it may go on}}
  - say: Done.
"""


def test_an_agent_waits_without_a_model_call_and_is_told_once(staged: Stages) -> None:  # T131
    stage = staged(WAITS)
    run = stage.start_tasks({"key": "a", "subject": "set a", "checks": ["done"]})
    stage.until("background_started")
    stage.wait(lambda: any(member.waiting_on for member in stage.stores.roster.all()), "a declared wait")
    (member,) = stage.stores.roster.all()
    (job,) = stage.stores.jobs.all()
    assert member.waiting_on == f"the end of {job.id}"
    calls = len(stage.events("model_call"))
    assert f"waits for the end of {job.id}" in stage.leadhand("status").out
    assert job.id in stage.leadhand("background").out
    assert len(stage.events("model_call")) == calls
    stage.let_go()
    ended = run.end()
    assert ended.code == 0, ended
    told = [line for line in stage.journal(job.bearer) if line["kind"] == "background"]
    assert [line["job"] for line in told] == [job.id]
    assert stage.leadhand("background", "tail", job.id).out == "installed\n"
    assert stage.stores.jobs.get(job.id).state is JobState.TOLD


def test_a_command_ends_with_its_task(staged: Stages) -> None:
    stage = staged(LEAVES)
    ended = stage.start_tasks({"key": "a", "subject": "leave it", "checks": ["any"]}).end()
    assert ended.code == 0, ended
    (job,) = stage.stores.jobs.all()
    assert (job.how, job.why) == (HowEnded.KILLED, "its task was left")
    stage.nobody_is_left()


def test_a_command_dies_with_a_killed_agent_and_its_successor_hears_of_it(staged: Stages) -> None:
    stage = staged(WAITS, LEADHAND_STOP_PATIENCE_SECONDS="1")
    run = stage.start_tasks({"key": "a", "subject": "set a", "checks": ["done"]})
    job = stage.until("background_started")["job"]
    run.signal(signal.SIGKILL).end()
    (member,) = stage.stores.roster.all()
    os.kill(stage.pid(member.name), signal.SIGKILL)
    stage.nobody_is_left()
    hand = stage.start("worker", "--name", member.name)
    stage.wait(lambda: stage.stores.jobs.get(job).state is JobState.TOLD, "the successor to be told")
    assert stage.stores.jobs.get(job).how is HowEnded.LOST
    newest = stage.stores.roster.member(member.name)
    assert newest
    bearer = newest.bearer
    assert [line["job"] for line in stage.journal(bearer) if line["kind"] == "background"] == [job]
    hand.signal(signal.SIGTERM).end()


def test_a_person_ends_a_command_from_a_second_terminal(staged: Stages) -> None:
    stage = staged(WAITS.replace("completed", "failed"))
    run = stage.start_tasks({"key": "a", "subject": "set a", "checks": ["done"]})
    job = stage.until("background_started")["job"]
    assert f"{job} and everything it started is ended" in stage.leadhand("background", "kill", job).out
    assert run.end().code == 0
    assert stage.stores.jobs.get(job).signal == "SIGTERM"
