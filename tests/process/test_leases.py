"""Leases of real workers that are frozen, hung, killed, or live under another clock or pid namespace."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from coordination.process import is_stopped, start_mark
from tests.support.team_process import SET_A, sleepers

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


TTL = "3"  # seconds; a busy machine keeps a thread waiting for one
TAKEN_OVER = """
  - when: {last_user: Somebody worked on this before, tools_called: ^$}
    call: {bash: {command: sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {last_user: Somebody worked on this before}
    call: {complete_task: {summary: a is 2 now}}
  - when: {tools_called: ^$}
    call: {bash: {command: 'echo half > half.txt; exec sleep 300'}}
  - when: {tools_called: bash$}
    call: {bash: {command: 'echo late > @PLACE@/late.txt'}}
"""
HUNG = """
  - when: {last_user: Somebody worked on this before, tools_called: ^$}
    call: {bash: {command: sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {last_user: Somebody worked on this before}
    call: {complete_task: {summary: a is 2 now}}
  - when: {tools_called: ^$}
    delay_seconds: 300
    call: {bash: {command: 'echo late > @PLACE@/late.txt'}}
"""
ALONE = """
  - when: {tools_called: ^$}
    call: {bash: {command: 'sed -i.bak s/1/2/ a.py && rm a.py.bak; @WAIT@'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
RESTARTED = """
  - when: {last_result: unknown, tools_called: bash$}
    call: {bash: {command: grep -q half half.txt && sed -i.bak s/1/2/ a.py && rm a.py.bak}}
  - when: {tools_called: bash bash$}
    call: {complete_task: {summary: a is 2 now}}
  - when: {last_user: Plan approved, tools_called: submit_plan$}
    call: {bash: {command: 'echo half > half.txt; exec sleep 300'}}
  - when: {tools_called: ^$}
    call: {submit_plan: {plan: a.py is set to 2; grep shows it}}
"""


def freeze(stage: Stage, pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    stage.wait(lambda: is_stopped(pid), "the freeze")


def test_a_frozen_holder_that_wakes_too_late_stops_and_its_shell_children_die(staged: Stages) -> None:
    stage = staged(TAKEN_OVER, LEADHAND_LEASE_TTL_SECONDS=TTL)
    run = stage.start_tasks(SET_A, workers=2)
    stage.until("model_call", tools=["bash"])
    victim, pid = stage.owner("set a"), stage.pid(stage.owner("set a"))
    stage.wait(lambda: bool(sleepers(pid)), "the command")
    (child,) = sleepers(pid)
    freeze(stage, pid)
    stage.until("merged", subject="set a")
    os.kill(pid, signal.SIGCONT)
    stage.wait(lambda: start_mark(child.pid) is None, "the end of the command")
    ended = run.end()
    assert ended.code == 0, ended
    assert ended.event("member_lost")["why"].endswith("was silent for 3 s")
    assert stage.owner("set a") != victim
    assert stage.history("set a").count("reclaim") == 1
    assert not (stage.place / "late.txt").exists()


@pytest.mark.stress
def test_a_hung_loop_with_a_live_keeper_loses_its_task(staged: Stages) -> None:
    stage = staged(HUNG, LEADHAND_LEASE_TTL_SECONDS=TTL)
    with (stage.root / "leadhand.yaml").open("a") as settings:
        settings.write("lease: {progress_timeout_seconds: 20}\n")
    run = stage.start_tasks(SET_A, workers=2)
    stage.until("claimed")
    victim, pid = stage.owner("set a"), stage.pid(stage.owner("set a"))
    stage.until("reclaimed")
    assert psutil.pid_exists(pid)
    ended = run.end()
    assert ended.code == 0, ended
    assert stage.owner("set a") != victim
    assert not (stage.place / "late.txt").exists()


def test_a_holder_that_nobody_missed_goes_on_under_its_token(staged: Stages) -> None:
    """With everybody frozen for longer than a TTL, as by a suspended machine, nobody is lost."""
    stage = staged(ALONE, LEADHAND_LEASE_TTL_SECONDS=TTL)
    run = stage.start_tasks(SET_A, workers=2)
    stage.until("model_call", tools=["bash"])
    pids = [run.process.pid, *(stage.pid(name) for name in stage.stores.roster.names())]
    for pid in pids:
        freeze(stage, pid)
    token, clock = stage.task("set a").token, stage.stores.team.clock
    until = clock.monotonic() + 2 * float(TTL)
    stage.wait(lambda: clock.monotonic() > until, "the suspension")
    stage.let_go()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    ended = run.end()
    assert ended.code == 0, ended
    assert "reclaim" not in stage.history("set a")
    assert (stage.task("set a").token, stage.task("set a").attempts) == (token, 0)


def test_a_restarted_worker_goes_on_with_its_task_its_tree_and_its_approved_plan(
    staged: Stages,
) -> None:  # T47
    stage = staged(RESTARTED, LEADHAND_PLAN_REVIEWER="person")
    run = stage.start_tasks({**SET_A, "plan": True})
    plan = stage.until("plan_submitted")["request"]
    assert stage.leadhand("approve", plan).code == 0
    stage.until("model_call", tools=["bash"])
    before = stage.task("set a")
    stage.wait((stage.root / str(before.worktree) / "half.txt").exists, "half of the work")
    name, pid = stage.owner("set a"), stage.pid(stage.owner("set a"))
    run.signal(signal.SIGKILL).end()
    os.kill(pid, signal.SIGKILL)
    stage.wait(lambda: start_mark(pid) is None, "its death")
    by_hand = stage.start("worker", "--name", name)
    stage.until("completed", subject="set a")
    after = stage.task("set a")
    assert stage.history("set a").count("resume") == 1
    assert (after.resumed_from, after.attempts, after.worktree) == (before.token, 1, before.worktree)
    assert [plan] == [event["request"] for event in stage.events("plan_submitted")]
    assert stage.leadhand("resume").code == 0
    assert by_hand.end().code == 0
