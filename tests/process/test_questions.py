"""Calls that need a person: asked, answered at a terminal or from a second process, or refused (S31)."""

from __future__ import annotations

import json
import signal
import subprocess  # noqa: TID251 - a run whose output goes to a full disk
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.lead.outcome import ExitCode
from orchestrator.terminal.confirmation import ASKED
from tests.support.people import leads
from tests.support.pty_command import PtyCommand
from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


ASKS_TO_WRITE = """
  - when: {tools_called: ^$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: ^write_file$, last_result: Wrote}
    call: {complete_task: {summary: a is 2 now}}
  - say: I may not.
"""
WOKEN_BY_MAIL = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: write, description: Write it., checks: [any]}
      - spawn_teammate: {name: writer}
  - when: {system: role=lead, last_user: greet the writer}
    call: {send_message: {to: writer, content: 'hello'}}
  - when: {system: role=teammate, tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - when: {system: role=teammate, tools_called: ^bash$}
    call: {complete_task: {summary: written}}
  - say: Good.
"""


def request_of(stage: Stage, number: int = 1) -> str:
    """The id of so manieth question."""
    stage.wait(lambda: len(stage.events("permission_asked")) >= number, f"question {number}")
    found: str = stage.events("permission_asked")[number - 1]["request"]
    return found


def test_a_question_is_answered_from_a_second_process_and_work_goes_on(staged: Stages) -> None:
    stage = staged(ASKS_TO_WRITE, LEADHAND_PERMISSIONS_ASK="write_file")
    stage.init()
    follow = stage.start("approvals", "--follow", "--json")
    stage.wait(lambda: any((stage.root / ".team/approvers").glob("*.json")), "somebody who looks")
    run = stage.start_tasks(SET_A, options=("--json", "--no-input"))
    request = request_of(stage)
    follow_said = json.dumps({"action": "question", "id": request})[:-1]
    stage.wait(lambda: follow.said(follow_said) == 1, "the question")
    listed = stage.leadhand("approvals", "--json")
    assert listed.code == 3
    [shown] = json.loads(listed.out)["open"]
    assert (shown["subject"], shown["what"]) == ("write_file", "a.py\n+ a = 2")
    status = stage.leadhand("status")
    assert f"{request}  permission of worker-1 for write_file (leadhand approve {request})" in status.out
    assert stage.leadhand("approve", request).code == 0
    assert run.end().code == 0
    assert stage.leadhand("approvals").code == 0
    again = stage.leadhand("approve", request)
    assert (again.code, "was already decided: approve by person" in again.complaint) == (2, True)
    assert follow.signal(signal.SIGINT).end().code == 130


def test_the_leads_question_whether_to_start_is_shown_to_whoever_follows(staged: Stages) -> None:
    stage = staged(ASKS_TO_WRITE)
    stage.init()
    lead = leads(stage.stores.team)
    follow = stage.start("approvals", "--follow")
    lead.events.record(ASKED, members=3)
    stage.wait(lambda: follow.said("proposed teammates: 3") == 1, "the question")
    assert follow.signal(signal.SIGTERM).end().code


def test_without_anybody_to_ask_a_run_ends_with_a_clear_refusal(staged: Stages) -> None:  # T117
    stage = staged(ASKS_TO_WRITE, LEADHAND_PERMISSIONS_ASK="write_file")
    ended = stage.start_tasks(SET_A, options=("--json", "--no-input")).end()
    assert ended.code == 3
    refused = ended.event("tool_refused")
    assert (refused["gate"], refused["reason"]) == ("permission", "nobody_to_ask")
    assert ended.event("permission_unasked")["what"] == "a.py\n+ a = 2"
    [told] = [
        line["content"][0]["content"]
        for line in stage.journal("worker-1~2")
        if line["kind"] == "tool_results" and "write_file" in line["content"][0]["content"]
    ][:1]
    assert told.startswith("[permission/nobody_to_ask] the rule write_file says ask, and nobody can be asked")


def test_a_question_at_the_terminal_takes_no_key_typed_before_it(staged: Stages) -> None:  # T117
    stage = staged(ASKS_TO_WRITE, LEADHAND_PERMISSIONS_ASK="write_file")
    stage.init()
    (stage.place / "tasks.yaml").write_text(json.dumps([SET_A]), encoding="utf-8")
    arguments = ("run", "--tasks", str(stage.place / "tasks.yaml"), "--workers", "1")
    with PtyCommand(*arguments, cwd=stage.root, environment=stage.environment) as terminal:
        terminal.wait("leads, term 1")
        terminal.types("y\nno\ny\nwhat else")
        terminal.wait("allow it? yes, no, team")
        assert "asks to run write_file" in terminal.shown
        assert "+ a = 2" in terminal.shown
        assert len(stage.stores.requests.open()) == 1
        terminal.types("perhaps\n")
        terminal.wait("'perhaps' is no answer")
        terminal.wait("allow it? yes, no, team")
        terminal.types("y\n")
        assert terminal.end() == 0
    assert stage.events("permission_decided", verdict="approve", scope="once", forgery_proof=False)


def test_s31_a_turn_woken_by_mail_asks_whoever_is_attached_and_is_refused_where_nobody_is(
    staged: Stages,
) -> None:
    stage = staged(WOKEN_BY_MAIL, LEADHAND_PERMISSIONS_ASK="lead:send_message")
    run = stage.start("run", "write", "--yes", "--json")
    stage.until("claimed", who="writer~2")
    assert stage.leadhand("send", "lead", "greet the writer").code == 0
    refused = stage.until("tool_refused", who="lead~1")
    assert (refused["tool"], refused["reason"]) == ("send_message", "nobody_to_ask")
    follow = stage.start("approvals", "--follow")
    stage.wait(lambda: any((stage.root / ".team/approvers").glob("*.json")), "somebody who looks")
    assert stage.leadhand("send", "lead", "greet the writer again").code == 0
    denied = stage.leadhand("deny", request_of(stage), "--reason", "let it work")
    assert denied.code == 0
    assert stage.until("tool_refused", who="lead~1", reason="denied")
    assert stage.leadhand("send", "lead", "greet the writer once more").code == 0
    assert stage.until("tool_refused", who="lead~1", reason="denied_before")
    assert stage.events("permission_denied_before", tool="send_message")
    stage.let_go()
    assert run.end().code == 0
    assert follow.signal(signal.SIGTERM).end().code


def test_a_team_that_waits_for_a_yes_is_told_of_elsewhere_and_changed_before_it_starts(
    staged: Stages,
) -> None:
    stage = staged(ASKS_TO_WRITE)
    stage.init()
    (stage.place / "tasks.yaml").write_text(json.dumps([SET_A]), encoding="utf-8")
    arguments = ("run", "--tasks", str(stage.place / "tasks.yaml"))
    with PtyCommand(*arguments, cwd=stage.root, environment=stage.environment) as terminal:
        stage.until("team_asked")
        told = 'the lead waits at its terminal for your answer to "start this team?"'
        waiting = stage.leadhand("approvals")
        assert (waiting.code, told in waiting.out) == (3, True)
        assert told in stage.leadhand("status").out
        terminal.types("limit member.max_turns much\n")
        terminal.wait("limits.member.max_turns must be a whole number from 1, not")
        terminal.wait("start this team?")
        terminal.types("limit member.max_turns 1\n")
        terminal.wait("limits: member 1 turns")
        terminal.wait("start this team?")
        assert "\x1b" not in terminal.shown
        terminal.types("yes\n")
        assert terminal.end() == ExitCode.LIMIT
    assert stage.events("limit_reached", scope="member", who="worker-1~2")
    assert told not in stage.leadhand("status").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_run_whose_output_finds_no_room_goes_on_and_says_so_in_its_exit_code(staged: Stages) -> None:
    stage = staged(ASKS_TO_WRITE)
    stage.init()
    (stage.place / "tasks.yaml").write_text(json.dumps([SET_A]), encoding="utf-8")
    command = [sys.executable, "-P", "-m", "orchestrator.cli.main", "run", "--workers", "1", "--json"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*command, "--tasks", str(stage.place / "tasks.yaml")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=stage.root,
            env=stage.environment,
            check=False,
        )
    assert (ended.returncode, ended.stderr.count("the output cannot be written")) == (1, 1)
    assert stage.events("merged")
