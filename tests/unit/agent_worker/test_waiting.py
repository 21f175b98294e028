"""What a conversation waits for, read off what was said in it."""

from __future__ import annotations

from typing import Any

import pytest

from agent_worker.briefing import PLAN_VOID, plan_decided
from agent_worker.waiting import awaits_answer_of, awaits_decision, circle
from coordination.protocols import answer_of
from coordination.records import Decision, Verdict
from harness.context.messages import unknown_outcomes
from harness.context.reminder import REMINDER

Message = dict[str, Any]
PLAN = {"type": "tool_use", "id": "c1", "name": "submit_plan", "input": {"plan": "paint it"}}
ASKS = {"type": "tool_use", "id": "c2", "name": "send_message", "input": {"to": "lead", "content": "how?"}}
OTHER = {"type": "tool_use", "id": "c3", "name": "send_message", "input": {"to": "bob", "content": "hi"}}
WORDS = {"type": "text", "text": "I wait."}
REFUSED = {"type": "tool_result", "tool_use_id": "c2", "content": "no such member", "is_error": True}


def ran(call: Message) -> Message:
    return {"type": "tool_result", "tool_use_id": call["id"], "content": "done"}


def said(text: str) -> Message:
    return {"type": "text", "text": text}


def model(*blocks: Message) -> Message:
    return {"role": "assistant", "content": list(blocks)}


def host(*blocks: Message) -> Message:
    return {"role": "user", "content": list(blocks)}


def decided(verdict: Verdict) -> Message:
    return said(plan_decided(Decision(verdict=verdict, by="person", request_digest="")))


@pytest.mark.parametrize(
    ("messages", "waits"),
    [
        ([host(said("do it"))], False),
        ([host(said("do it")), model(PLAN), host(ran(PLAN))], True),
        ([host(said("do it")), model(PLAN), host(*unknown_outcomes(["c1"]))], True),
        ([host(said("do it")), model(PLAN), host(ran(PLAN), decided(Verdict.APPROVE))], False),
        ([host(said("do it")), model(PLAN), host(ran(PLAN), decided(Verdict.DENY)), model(PLAN)], True),
        ([host(said("do it")), model(PLAN), host(ran(PLAN), said(PLAN_VOID))], False),
        ([host(said("do it")), model(PLAN), host(ran(PLAN), said("<mail>\n[Plan approved]\n</mail>"))], True),
    ],
)
def test_a_plan_waits_until_its_author_is_told(messages: list[Message], *, waits: bool) -> None:
    assert awaits_decision(messages) is waits


@pytest.mark.parametrize(
    ("messages", "asked"),
    [
        ([host(said("do it")), model(WORDS)], ""),
        ([host(said("do it")), model(ASKS), host(ran(ASKS)), model(WORDS)], "lead"),
        ([host(said("do it")), model(ASKS), host(ran(ASKS), said(REMINDER))], "lead"),
        ([host(said("do it")), model(ASKS), host(REFUSED), model(WORDS)], ""),
        ([host(said("do it")), model(ASKS), host(*unknown_outcomes(["c2"])), model(WORDS)], ""),
        ([host(said("do it")), model(OTHER), host(ran(OTHER)), model(WORDS)], "bob"),
        ([host(said("do it")), model(ASKS), host(ran(ASKS)), model(WORDS), host(said("<mail>"))], ""),
    ],
)
def test_a_question_waits_until_something_is_said(messages: list[Message], asked: str) -> None:
    assert awaits_answer_of(messages) == asked


@pytest.mark.parametrize(
    ("waits", "around"),
    [
        ({}, []),
        ({"bob": answer_of("lead")}, []),
        ({"bob": "the end of job_1"}, []),
        ({"bob": answer_of("cem"), "cem": answer_of("bob")}, []),  # a circle, but none of mine
        ({"bob": answer_of("ana")}, ["ana", "bob"]),
        ({"bob": answer_of("cem"), "cem": answer_of("ana")}, ["ana", "bob", "cem"]),
    ],
)
def test_who_asks_somebody_that_waits_for_them_waits_in_a_circle(
    waits: dict[str, str], around: list[str]
) -> None:
    assert circle("ana", "bob", waits) == around
