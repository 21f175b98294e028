"""A conversation that outlives the processes which hold it: kill -9 at any point, then `leadhand resume`."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.team_root import open_team
from harness.context.conversation import Conversation
from harness.context.messages import OUTCOME_UNKNOWN, fault
from harness.journal import read

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]  # on a machine busy with other things

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
Messages = list[dict[str, Any]]


def left(stage: Stage, who: str) -> Conversation:
    return Conversation.of(stage.journal(who))


def newest_lead(stage: Stage) -> str:
    newest = stage.stores.leadership.newest()
    assert newest
    return layout.bearer("lead", newest[0] - newest[1].ended)


def comparable(messages: Messages) -> list[Any]:
    """The messages without ids; a result whose call a kill cut off counts as any result."""
    return [
        (
            message["role"],
            [
                (block["type"], block.get("text"), block.get("name"), block.get("input"))
                for block in message["content"]
            ],
        )
        for message in messages
    ]


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


def calls(of: Conversation) -> Messages:
    return [block for message in of.messages for block in message["content"] if block["type"] == "tool_use"]


def results(of: Conversation) -> Messages:
    return [
        block for message in of.messages for block in message["content"] if block["type"] == "tool_result"
    ]


def check(staged: Stages, kills: int) -> None:
    stage = staged(THIRTY_TURNS)
    after = lives_through(stage, kills, random.Random(kills))
    assert fault(after.messages) is None
    assert stage.leadhand("run", "count", "--yes").code == 0  # nobody disturbs this one
    assert comparable(after.messages) == comparable(left(stage, newest_lead(stage)).messages)
    unknown = [block["tool_use_id"] for block in results(after) if OUTCOME_UNKNOWN in str(block["content"])]
    assert len(unknown) <= kills
    (wrote,) = (block["id"] for block in calls(after) if block["name"] == "todo_write")
    if wrote not in unknown:  # else it may have been written or not, as its result says
        assert after.todos == [{"content": "count", "status": "in_progress"}]


def test_a_lead_killed_at_random_moments_comes_to_the_same_history(staged: Stages) -> None:
    check(staged, 4)


@pytest.mark.stress
@pytest.mark.timeout(1500)
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
    bearer = stage.stores.roster.member(name)
    assert bearer
    again = left(stage, layout.bearer(name, (bearer.incarnation or 0)))
    assert again.todos == [{"content": "wait", "status": "in_progress"}]
    called = [block["name"] for m in again.messages for block in m["content"] if block["type"] == "tool_use"]
    assert called == ["write_file", "todo_write", "task", "complete_task"]
    assert OUTCOME_UNKNOWN in str(again.messages)
    [started] = stage.events("subagent_started")
    kept = read(open_team(stage.root).directory, started["transcript"])
    assert [line["kind"] for line in kept] == ["conversation", "user", "assistant"]
