"""Members that were asked to leave, and what reaches them or outlives them (scenarios S3 and S11)."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from coordination import layout
from coordination.orders import ask_to_stop
from coordination.process import is_stopped
from coordination.records import MemberState, Status

if TYPE_CHECKING:
    from tests.process.conftest import Stages


WRITES_LATE = """
  - when: {last_user: write, tools_called: ^$}
    call: {bash: {command: 'until [ -s @PLACE@/gone ]; do sleep 0.05; done; cat @PLACE@/gone'}}
  - when: {last_result: 'gone: (?P<name>[\\w-]+)'}
    call: {send_message: {to: '${name}', content: The key is under the mat.}}
  - when: {tools_called: send_message$}
    call: {complete_task: {summary: I wrote}}
  - when: {tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: it is done}}
  - say: Done.
"""
TASKS = tuple({"key": subject, "subject": subject, "checks": ["any"]} for subject in ("write", "wait"))


def test_s3_mail_to_a_member_that_left_is_an_error_that_says_so_and_the_lead_has_the_text(
    staged: Stages,
) -> None:
    stage = staged(WRITES_LATE)
    run = stage.start_tasks(*TASKS, workers=2)
    stage.wait(lambda: len(stage.events("model_call", tools=["bash"])) == 2, "both at work")
    writer, left = stage.owner("write"), stage.owner("wait")
    assert stage.leadhand("stop", left).code == 0
    stage.let_go()
    (stage.place / "gone").write_text(f"gone: {left}")
    ended = run.end()
    assert ended.code == 0, ended
    (result,) = (
        block
        for line in stage.journal(f"{writer}~2")
        if line["kind"] == "tool_results"
        for block in line["content"]
        if "did not get the message" in str(block["content"])
    )
    assert result["is_error"]
    assert f"{left} has left the team" in result["content"]
    assert f"send to one of: lead, {writer}" in result["content"]
    (told,) = (
        line["message"]
        for line in stage.journal("lead~1")
        if line["kind"] == "mail" and line["message"]["type"] == "undeliverable"
    )
    assert told["content"].endswith("The key is under the mat.")
    assert told["metadata"]["to"] == left


def test_s11_a_team_is_not_ended_under_a_member_that_has_not_answered_yet(staged: Stages) -> None:
    stage = staged(WRITES_LATE, LEADHAND_STOP_PATIENCE_SECONDS="1")
    run = stage.start_tasks(TASKS[1])
    stage.until("model_call", tools=["bash"])
    name = stage.owner("wait")
    member, pid = stage.stores.roster.member(name), stage.pid(name)
    assert member
    os.kill(pid, signal.SIGSTOP)
    stage.wait(lambda: is_stopped(pid), "the stop")
    request = ask_to_stop(stage.stores, member.bearer)
    assert stage.leadhand("stop").code == 0
    stage.nobody_is_left()  # it came back only when nobody was left
    assert run.end().code == 143
    gone = stage.stores.roster.member(name)
    assert gone
    assert gone.state is MemberState.CLOSED
    assert stage.stores.requests.get(request).question.subject == f"{name}~2"
    assert (stage.root / layout.journal(f"{name}~2")).exists()
    assert stage.task("wait").status in {Status.PENDING, Status.CANCELLED}
    assert stage.leadhand("fsck").code == 0
