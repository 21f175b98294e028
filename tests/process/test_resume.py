"""A conversation that outlives the processes which hold it: kill -9 at any point, then `leadhand resume`."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.team_root import open_team
from harness.context.messages import fault
from harness.journal import read
from tests.support.conversations import calls, comparable, left, of_teammate, unknown

if TYPE_CHECKING:
    from harness.context.conversation import Conversation
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


THIRTY_TURNS = """
  - when: {tools_called: '^(\\S+ ){29}\\S+$'}
    say: That was all.
  - when: {tools_called: '^(\\S+ ){4}\\S+$'}
    delay_seconds: 0.05
    call: {todo_write: {todos: [{content: count, status: in_progress}]}}
  - delay_seconds: 0.05
    call: {list_tasks: {}}
"""
DIES_IN_A_TURN = 0.4  # of all leads; so fifty of them do not come to the end of thirty turns
WORKS = """
  - when: {tools_called: ^$, system: role=teammate}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: ^write_file$}
    call: {todo_write: {todos: [{content: wait, status: in_progress}]}}
  - when: {system: role=subagent}
    call: {bash: {command: '@WAIT@'}}
  - when: {tools_called: todo_write$}
    call: {task: {description: wait until you may go on}}
  - when: {last_result: outcome_unknown}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""


def newest_lead(stage: Stage) -> str:
    newest = stage.stores.leadership.newest()
    assert newest
    return layout.bearer("lead", newest[0] - newest[1].ended)


def lives_through(stage: Stage, kills: int, rng: random.Random) -> Conversation:
    """The conversation at the end of a run whose lead is killed so often at random moments.

    Some die while they begin, the others in the first turn after that: around the reply of the model,
    its line in the journal, the call, and the line with its result.
    """
    for _ in range(kills):
        is_open = (stage.root / layout.TEAM_FILE).exists() and stage.stores.runs.open_run()
        command = stage.start("resume") if is_open else stage.start("run", "count", "--yes")
        stage.wait(lambda command=command: command.said("leads") > 0 or command.process.poll() is not None)
        if rng.random() < DIES_IN_A_TURN:
            so_far = len(stage.events("model_call"))
            stage.wait(lambda so_far=so_far: len(stage.events("model_call")) > so_far, "a turn")
            stage.pause(rng.uniform(0, 0.1))
        else:
            stage.pause(rng.uniform(0, 0.6))
        assert command.process.poll() is None, "the run was over before all kills were done"
        command.signal(signal.SIGKILL)
        command.process.wait()
    if stage.stores.runs.open_run():
        assert stage.leadhand("resume").code == 0
    return left(stage, newest_lead(stage))


def check(staged: Stages, kills: int) -> None:
    stage = staged(THIRTY_TURNS)
    after = lives_through(stage, kills, random.Random(kills))
    assert fault(after.messages) is None
    assert stage.leadhand("run", "count", "--yes").code == 0  # nobody disturbs this one
    assert comparable(after.messages) == comparable(left(stage, newest_lead(stage)).messages)
    assert len(unknown(after)) <= kills
    (wrote,) = (block["id"] for block in calls(after) if block["name"] == "todo_write")
    if wrote not in unknown(after):  # else it may have been written or not, as its result says
        assert after.todos == [{"content": "count", "status": "in_progress"}]


def test_a_lead_killed_at_random_moments_comes_to_the_same_history(staged: Stages) -> None:
    check(staged, 4)


@pytest.mark.stress
def test_a_lead_killed_fifty_times_comes_to_the_same_history(staged: Stages) -> None:
    check(staged, 50)


def test_a_killed_worker_goes_on_with_history_and_todos_and_runs_nothing_again(staged: Stages) -> None:  # T48
    stage = staged(WORKS)
    lead = stage.start_tasks({"key": "a", "subject": "set a", "checks": ["done"]})
    stage.until("started")
    stage.wait(lambda: "bash" in str(stage.events("model_call")), "the long call of the sub-agent")
    name = stage.owner("set a")
    lead.signal(signal.SIGKILL)
    lead.process.wait()
    stage.kill(stage.pid(name))
    stage.let_go()
    by_hand = stage.start("worker", "--name", name)
    stage.until("completed")
    resumed = stage.start("resume")
    assert resumed.end().code == 0
    by_hand.end()
    again = of_teammate(stage, name)
    assert again.todos == [{"content": "wait", "status": "in_progress"}]
    called = [block["name"] for block in calls(again)]
    assert called == ["write_file", "todo_write", "task", "complete_task"]
    assert len(unknown(again)) == 1
    [started] = stage.events("subagent_started")
    kept = read(open_team(stage.root).directory, started["transcript"])
    assert [line["kind"] for line in kept] == ["conversation", "user", "assistant"]


WORKS_THIRTY_TURNS = """
  - when: {tools_called: 'complete_task$'}
    say: Done.
  - when: {tools_called: '^(\\S+ ){29}\\S+$'}
    call: {complete_task: {summary: counted}}
  - when: {tools_called: '^(\\S+ ){4}\\S+$'}
    delay_seconds: 0.05
    call: {todo_write: {todos: [{content: count, status: in_progress}]}}
  - delay_seconds: 0.05
    call: {bash: {command: 'sleep 0.05; echo ran >> @PLACE@/$LEADHAND_TASK'}}
"""
COUNTS = {"key": "a", "subject": "count", "checks": ["any"]}
UNDISTURBED = {"key": "b", "subject": "count undisturbed", "checks": ["any"]}
IN_A_TURN_OF_WORKER = 0.5
LAST_KILLED = 26  # the turn behind which no kill may hit the call that hands the work in


def of(stage: Stage, name: str, action: str) -> list[dict[str, Any]]:
    """All events of this action, of whichever process has that name."""
    return [event for event in stage.events(action) if event["who"].startswith(f"{name}~")]


def dies_at_random(stage: Stage, name: str, life: int, rng: random.Random) -> None:
    """The teammate is killed while it begins this life, or in its next turn."""
    stage.wait(lambda: len(of(stage, name, "alive")) == life, f"life {life}")
    so_far = len(of(stage, name, "model_call"))
    if so_far < LAST_KILLED and rng.random() < IN_A_TURN_OF_WORKER:
        stage.wait(lambda: len(of(stage, name, "model_call")) > so_far, "a turn")
        stage.pause(rng.uniform(0, 0.15))
    elif so_far < LAST_KILLED:
        stage.pause(rng.uniform(0, 0.6))
    stage.kill(stage.pid(name))


def came_through(stage: Stage, kills: int) -> Conversation:
    """What a teammate came to of which nothing ran twice, however often it was killed."""
    name = stage.owner("count")
    after = of_teammate(stage, name)
    assert fault(after.messages) is None
    result = stage.task("count").result
    assert result
    assert result.usage.calls == len(of(stage, name, "model_call"))  # by all its lives
    steps = stage.history("count")
    assert (steps.count("claim"), "reclaim" in steps) == (1, False)
    assert 0 < steps.count("resume") <= kills  # some die before they have taken it up
    ran = [event["call"] for action in ("tool_ran", "tool_failed") for event in of(stage, name, action)]
    assert len(ran) == len(set(ran))
    made, open_end = {block["id"] for block in calls(after)}, set(unknown(after))
    assert made - open_end <= set(ran) <= made
    assert len(open_end) <= kills
    counted = (stage.place / stage.task("count").id).read_text().count("ran")
    by_shell = {block["id"] for block in calls(after) if block["name"] == "bash"}
    assert len(by_shell - open_end) <= counted <= len(by_shell)
    return after


def check_history(stage: Stage, after: Conversation) -> None:
    """It is that of a teammate whom nobody disturbed, but for the subject in the briefing."""
    undisturbed = of_teammate(stage, stage.owner("count undisturbed"))
    assert comparable(after.messages)[1:] == comparable(undisturbed.messages)[1:]


def test_a_worker_that_its_lead_starts_again_comes_to_the_same_history(staged: Stages) -> None:
    kills, rng = 3, random.Random(7)
    stage = staged(WORKS_THIRTY_TURNS, LEADHAND_TASK_MAX_ATTEMPTS="9")
    run = stage.start_tasks(COUNTS, UNDISTURBED, workers=2)
    stage.until("claimed", subject="count")
    for life in range(1, kills + 1):
        dies_at_random(stage, stage.owner("count"), life, rng)
    assert run.end().code == 0
    check_history(stage, came_through(stage, kills))


@pytest.mark.stress
def test_a_worker_killed_fifty_times_without_a_lead_comes_to_the_same_history(staged: Stages) -> None:
    kills, rng = 50, random.Random(50)
    stage = staged(WORKS_THIRTY_TURNS, LEADHAND_TASK_MAX_ATTEMPTS="99")
    run = stage.start_tasks(COUNTS)
    stage.until("claimed", subject="count")
    run.signal(signal.SIGKILL).end()
    name = stage.owner("count")
    for life in range(1, kills + 1):
        dies_at_random(stage, name, life, rng)
        stage.start("worker", "--name", name)
    stage.until("completed", subject="count")
    assert stage.leadhand("resume").code == 0
    after = came_through(stage, kills)
    assert stage.start_tasks(UNDISTURBED).end().code == 0
    check_history(stage, after)
