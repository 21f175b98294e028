"""Lead and teammate killed while a plan, a question, a command and mail are open: each goes on once."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from harness.context.messages import fault
from tests.support.conversations import calls, left, of_teammate, told

if TYPE_CHECKING:
    from harness.context.conversation import Conversation
    from tests.process.conftest import Stages
    from tests.support.team_process import Command, Stage


PAINTS = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - todo_write: {todos: [{content: have it painted, status: in_progress}]}
      - create_task: {subject: paint, description: Paint it., checks: [done], require_plan: true}
      - spawn_teammate: {name: painter}
  - when: {system: role=lead, last_user: which blue, tools_called: mate$}
    call: {send_message: {to: painter, content: the dark one}}
  - when: {system: role=lead}
    say: Good.
  - when: {tools_called: ^$}
    call: {todo_write: {todos: [{content: paint, status: in_progress}]}}
  - when: {tools_called: ^todo_write$}
    call: {submit_plan: {plan: paint it somehow}}
  - when: {tools_called: ^todo_write submit_plan$, last_user: Plan rejected}
    call: {submit_plan: {plan: paint it blue}}
  - when: {tools_called: submit_plan submit_plan$, last_user: Plan approved}
    call: {bash: {command: '@WAIT@', run_in_background: true}}
  - when: {tools_called: bash$}
    call: {send_message: {to: lead, content: 'which blue?'}}
  - when: {tools_called: send_message$, last_user: the dark one}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: send_message$}
    say: I wait for the lead.
  - when: {tools_called: write_file$}
    call: {complete_task: {summary: painted}}
  - say: Done.
"""
STEPS = ["todo_write", "submit_plan", "submit_plan", "bash", "send_message", "write_file", "complete_task"]


class Painting:
    """A run that is killed at each of its open ends."""

    def __init__(self, stage: Stage, rng: random.Random) -> None:
        self._stage = stage
        self._rng = rng
        self._lead: Command | None = None
        self._hands: list[Command] = []

    def plays(self) -> None:
        stage = self._stage
        self._lead = stage.start("run", "paint", "--yes")
        self.submitted(1)
        self.kills_painter()  # its lead starts it again
        asked_again = self.submitted(2)
        assert self._lead
        self._lead.signal(signal.SIGKILL).end()
        assert stage.leadhand("deny", asked_again, "--reason", "say in which colour").code == 0
        second = self.submitted(3)
        self.kills_painter()
        assert stage.leadhand("approve", second).code == 0  # while nobody is there
        self.goes_on()
        stage.wait(lambda: self.waits_for("the end of bg_"), "a command and a question")
        self.kills_painter()
        self.goes_on()
        stage.wait(lambda: self.waits_for("an answer of the lead"), "the answer")
        assert stage.leadhand("resume").code == 0
        for hand in self._hands:
            hand.end()

    def submitted(self, number: int) -> str:
        """The id of the question that so manieth was put before the person."""
        stage = self._stage
        stage.wait(lambda: len(stage.events("plan_submitted")) == number, f"plan {number}")
        request: str = stage.events("plan_submitted")[-1]["request"]
        return request

    def kills_painter(self) -> None:
        self._stage.pause(self._rng.uniform(0, 0.3))
        self._stage.kill(self._stage.pid("painter"))

    def goes_on(self) -> None:
        self._hands.append(self._stage.start("worker", "--name", "painter"))

    def waits_for(self, what: str) -> bool:
        member = self._stage.stores.roster.member("painter")
        return bool(member and (member.waiting_on or "").startswith(what))


def once(conversation: Conversation, *texts: str) -> bool:
    """Each of the texts was said to the model exactly once."""
    return [sum(text in said for said in told(conversation)) for text in texts] == [1] * len(texts)


def came_through(stage: Stage) -> None:
    painter = of_teammate(stage, "painter")
    assert fault(painter.messages) is None
    assert [block["name"] for block in calls(painter)] == STEPS
    assert painter.todos == [{"content": "paint", "status": "in_progress"}]
    assert once(painter, "[Plan rejected]", "[Plan approved]", "the dark one", 'status="lost"')
    assert not any("[Plan void]" in text or "[Still open]" in text for text in told(painter))
    assert stage.task("paint").refusals == 0
    said = sum(message["role"] == "assistant" for message in painter.messages)
    asked = [event for event in stage.events("model_call") if event["who"].startswith("painter~")]
    assert len(asked) == said  # none of its model while it waited
    plans = [stage.stores.requests.get(event["request"]) for event in stage.events("plan_submitted")]
    assert sorted((plan.question.question, plan.answer is not None) for plan in plans) == [
        ("paint it blue", True),
        ("paint it somehow", False),  # over with its asker, and asked again
        ("paint it somehow", True),
    ]
    newest = stage.stores.leadership.newest()
    assert newest
    lead = left(stage, layout.bearer("lead", newest[0] - newest[1].ended))
    assert lead.todos == [{"content": "have it painted", "status": "in_progress"}]
    assert [block["name"] for block in calls(lead)][:4] == [
        "todo_write",
        "create_task",
        "spawn_teammate",
        "send_message",
    ]
    assert once(lead, "which blue?")


def test_plan_question_mail_and_command_go_on_once_after_kills_of_lead_and_teammate(staged: Stages) -> None:
    stage = staged(PAINTS, LEADHAND_PLAN_REVIEWER="person", LEADHAND_TASK_MAX_ATTEMPTS="9")
    Painting(stage, random.Random(1)).plays()
    came_through(stage)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_they_go_on_once_whenever_the_kills_come(staged: Stages, seed: int) -> None:
    stage = staged(PAINTS, LEADHAND_PLAN_REVIEWER="person", LEADHAND_TASK_MAX_ATTEMPTS="9")
    Painting(stage, random.Random(seed)).plays()
    came_through(stage)
