"""Members whose process dies come back at growing delays, in their own tree, until it is enough."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from coordination.orders import ask_to_stop
from coordination.records import Status
from harness.context.messages import OUTCOME_UNKNOWN
from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


WORKS = """
  - when: {tools_called: ^$}
    call: {bash: {command: 'echo half > half.txt; echo a = 2 > a.py; @WAIT@'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
DIES = """
  - when: {tools_called: '^$'}
    call: {bash: {command: 'kill -9 $PPID'}}
  - when: {last_result: outcome_unknown}
    call: {bash: {command: 'kill -9 $PPID'}}
  - say: Done.
"""


def kill(stage: Stage, name: str) -> None:
    os.kill(stage.pid(name), signal.SIGKILL)


def test_a_killed_member_goes_on_in_its_own_tree_although_another_is_free(staged: Stages) -> None:
    stage = staged(WORKS)
    run = stage.start_tasks(SET_A, workers=2)
    stage.until("model_call", tools=["bash"])
    name = stage.owner("set a")
    tree = stage.task("set a").worktree
    stage.wait((stage.root / str(tree) / "half.txt").exists)
    before = stage.stores.roster.member(name)
    kill(stage, name)
    ended = run.end()
    assert ended.code == 0, ended
    assert ended.event("restarts")["seconds"] == 0
    task = stage.task("set a")
    assert (task.owner, task.worktree, task.attempts) == (name, tree, 1)
    assert stage.history("set a").count("resume") == 1
    assert "reclaim" not in stage.history("set a")
    assert before
    again = stage.stores.roster.member(name)
    assert again
    assert again.start == before.start
    assert again.incarnation != before.incarnation
    (heir,) = {event["who"] for event in stage.events("resumed")}
    assert OUTCOME_UNKNOWN in str(stage.journal(heir))


def test_a_member_that_dies_again_and_again_is_given_up_and_the_run_says_so(staged: Stages) -> None:
    stage = staged(WORKS, LEADHAND_WORKERS_RESTARTS="2", LEADHAND_TASK_MAX_ATTEMPTS="9")
    run = stage.start_tasks(SET_A, options=())
    for times in range(3):
        stage.wait(lambda times=times: len(stage.events("alive")) == times + 1, f"life {times}")
        stage.wait(lambda times=times: len(stage.events("model_call")) > times, "its first words")
        kill(stage, "worker-1")
    stage.until("restarts_end")
    assert [event["seconds"] for event in stage.events("restarts")] == [0, 1]
    stage.until("reclaimed")
    stage.wait(lambda: len(stage.events("started")) == 2, "a new member")
    assert run.said("gives worker-1 up: it died 3 times in a row") == 1
    assert run.signal(signal.SIGTERM).end().code == 143


def test_a_task_that_kills_its_holders_fails_and_takes_nobody_with_it(staged: Stages) -> None:
    stage = staged(DIES, LEADHAND_TASK_MAX_ATTEMPTS="2")
    run = stage.start_tasks(SET_A)
    ended = run.end()
    assert ended.code == 1, ended
    task = stage.task("set a")
    assert (task.status, task.attempts) == (Status.FAILED, 2)
    assert [event["seconds"] for event in stage.events("restarts")] == [0, 1]
    assert stage.events("restarts_end") == []
    stage.nobody_is_left()


def test_a_member_that_is_killed_while_its_tree_is_made_ready_makes_one_and_works(staged: Stages) -> None:
    stage = staged(WORKS)
    file = stage.root / "leadhand.yaml"
    setup = f"worktrees:\n  setup: ['touch begun; until [ -e {stage.place}/go ]; do sleep 0.05; done']\n"
    file.write_text(file.read_text(encoding="utf-8") + setup, encoding="utf-8")
    run = stage.start_tasks(SET_A)
    stage.until("claimed")
    stage.wait(lambda: bool(list(stage.root.glob(".worktrees/*/begun"))), "set-up")
    assert "bind" not in stage.history("set a")
    kill(stage, "worker-1")
    stage.let_go()
    ended = run.end()
    assert ended.code == 0, ended
    assert stage.owner("set a") == "worker-1"
    assert [step for step in stage.history("set a") if step in {"claim", "resume", "bind", "reclaim"}] == [
        "claim",
        "resume",
        "bind",
    ]


def test_a_member_that_was_asked_to_leave_does_not_come_back(staged: Stages) -> None:
    stage = staged(WORKS)
    run = stage.start_tasks(SET_A, workers=2)
    stage.until("model_call", tools=["bash"])
    name = stage.owner("set a")
    member = stage.stores.roster.member(name)
    assert member
    os.kill(stage.pid(name), signal.SIGSTOP)
    ask_to_stop(stage.stores, member.bearer)
    kill(stage, name)
    stage.wait(lambda: len(stage.events("claimed")) == 2, "the other to take it")
    assert stage.events("restarts") == []
    stage.let_go()
    assert run.end().code == 0


def test_set_up_that_fails_is_tried_once_and_the_run_waits_for_the_person(staged: Stages) -> None:
    stage = staged(WORKS)
    file = stage.root / "leadhand.yaml"
    good = file.read_text(encoding="utf-8")
    file.write_text(good + "worktrees:\n  setup: [./no-such-install]\n", encoding="utf-8")
    ended = stage.start_tasks(SET_A).end()
    assert ended.code == 3, ended
    assert len(stage.events("setup_failed")) == 1
    why = ended.event("report")["cut_short"]
    assert "could make no tree ready: set-up failed, `./no-such-install`" in why
    assert why.endswith("mend that, then `leadhand resume` goes on")
    task = stage.task("set a")
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    file.write_text(good, encoding="utf-8")
    stage.let_go()
    assert stage.leadhand("resume", "--yes").code == 0
