"""One lead per root: refused, killed, followed, and woken too late, as real processes."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from coordination.process import is_stopped

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


TTL = "3"  # seconds; a busy machine keeps a thread waiting for one
TEAM = """
  - when: {last_user: Plan approved, tools_called: submit_plan$}
    call: {bash: {command: sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {last_user: set a, tools_called: ^$}
    call: {submit_plan: {plan: a.py is set to 2; grep shows it}}
  - when: {last_user: be last, tools_called: ^$}
    call: {bash: {command: 'true'}}
  - when: {last_user: be slow, tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: it is done}}
  - say: Done.
"""
TASKS: tuple[dict[str, Any], ...] = (
    {"key": "a", "subject": "set a", "checks": ["done"], "plan": True, "priority": 1},
    {"key": "b", "subject": "be slow", "checks": ["any"], "priority": 2},
    {"key": "c", "subject": "be last", "checks": ["any"], "needs": ["b"]},
)


def processes(stage: Stage) -> dict[str, int]:
    return {name: stage.pid(name) for name in stage.stores.roster.names()}


# S12; the other half is the grace in test_lookout.py
def test_a_new_lead_goes_on_with_what_a_killed_one_left_and_the_workers_never_noticed(staged: Stages) -> None:
    stage = staged(TEAM, LEADHAND_PLAN_REVIEWER="person")
    run = stage.start_tasks(*TASKS, workers=2)
    plan = stage.until("plan_submitted")["request"]
    stage.until("model_call", tools=["bash"])
    before = processes(stage)
    refused = stage.leadhand("resume", "--no-input")
    assert f"process {run.process.pid} on " in refused.complaint
    assert "term 1" in refused.complaint
    run.signal(signal.SIGKILL).end()
    stage.let_go()
    stage.until("completed", subject="be slow")  # without a lead; the news waits for the next one
    assert stage.task("be last").owner is None
    again = stage.start("resume", "--json")
    stage.until("leads", term=2)
    assert stage.leadhand("approve", plan).code == 0
    ended = again.end()
    assert ended.code == 0, ended
    assert [task.merged is not None for task in stage.stores.tasks.all()] == [True] * 3
    assert [version.attempts for version in stage.stores.tasks.all()] == [0] * 3
    news = [
        line["message"]["metadata"]["subject"]
        for line in stage.journal("lead~2")
        if line["kind"] == "mail" and line["message"]["type"] == "result"
    ]
    assert sorted(news) == ["be last", "be slow", "set a"]
    assert {event["pid"] for event in stage.events("started")} == set(before.values())


def test_a_lead_that_was_stopped_is_followed_after_its_silence_and_exits_when_it_wakes(
    staged: Stages,
) -> None:
    stage = staged(TEAM, LEADHAND_LEASE_TTL_SECONDS=TTL, LEADHAND_PLAN_REVIEWER="person")
    run = stage.start_tasks(*TASKS[1:], workers=1)
    stage.until("model_call", tools=["bash"])
    os.kill(run.process.pid, signal.SIGSTOP)
    stage.wait(lambda: is_stopped(run.process.pid), "the stop")
    again = stage.start("resume", "--json")
    stage.until("leads", term=2)
    run.signal(signal.SIGCONT)
    woken = run.end()
    assert woken.code != 0
    assert "term 1 of leadership is over, 2 is the present one" in woken.err
    assert stage.stores.leadership.present() == 2
    stage.let_go()
    ended = again.end()
    assert ended.code == 0, ended
    late = {
        task.by
        for task in stage.stores.tasks.all()
        for _, task in stage.stores.tasks.history(task.id)
        if task.term > 1
    }
    assert "lead~1" not in late
