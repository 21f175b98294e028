"""Mail that does not wait for the end of the running tool."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.protocols import Kind
from coordination.records import Verdict

if TYPE_CHECKING:
    from tests.process.conftest import Stages


LONG_WORK = """
  - when: {system: role=teammate, last_user: read this first, last_result: run/interrupted}
    call: {complete_task: {summary: heard}}
  - when: {system: role=teammate, tools_called: ^$}
    call:
      - bash: {command: echo before}
      - bash: {command: '@WAIT@'}
      - bash: {command: echo after}
  - say: Good.
"""


@pytest.mark.parametrize(
    "seconds",
    [
        60.0,
        pytest.param(2.0, marks=pytest.mark.stress),
    ],  # the promise, where nothing else keeps the machine busy
)
def test_an_interrupt_ends_the_running_tool_in_time_and_nothing_else_is_lost(
    staged: Stages, seconds: float
) -> None:
    stage = staged(LONG_WORK)
    run = stage.start_tasks({"key": "a", "subject": "Long", "description": "Work.", "checks": ["any"]})
    stage.wait(lambda: any("until [ -e" in command for command in stage.living()), "the long command")
    who = stage.owner("Long")
    sent = stage.leadhand("send", who, "read this first", "--interrupt")
    assert "whose running tool is interrupted" in sent.out
    ended = run.end()
    assert ended.code == 0, ended

    member = stage.stores.roster.member(who)
    assert member
    lines = stage.journal(f"{who}~{member.incarnation}")
    results = next(line for line in lines if line["kind"] == "tool_results")
    assert [result.get("is_error", False) for result in results["content"]] == [False, True, True]
    assert results["content"][0]["content"] == "before"
    following = lines[lines.index(results) + 1]
    assert following["kind"] == "mail"
    assert "read this first" in following["text"]

    asked = [stage.stores.requests.get(path.name) for path in (stage.root / layout.REQUESTS).iterdir()]
    asked = [request for request in asked if request.question.kind == Kind.INTERRUPT]
    assert [request.answer.verdict for request in asked if request.answer] == [Verdict.APPROVE]
    took = datetime.fromisoformat(results["at"]) - datetime.fromisoformat(asked[0].question.at)
    assert took.total_seconds() < seconds

    (mail,) = json.loads(stage.leadhand("mail", "--sent", "--json").out)
    assert (mail["state"], mail["to"], mail["content"]) == ("delivered", who, "read this first")
