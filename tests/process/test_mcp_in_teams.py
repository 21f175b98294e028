"""Real teammates with one MCP server between them, asked and allowed as a team."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

from tests.process.test_questions import request_of
from tests.support.conversations import of_teammate, told
from tests.support.mcp import FAULTY, processes_with
from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages


CALLS_ONCE = """
  - when: {tools_called: ^$}
    call: {connect_mcp: {name: faulty}}
  - when: {tools_called: ^connect_mcp$}
    call: {mcp__faulty__echo: {say: hello}}
  - when: {tools_called: ^connect_mcp mcp__faulty__echo$, last_result: verify_business}
    call: {complete_task: {summary: it said hello}}
  - say: I may not.
"""


def test_two_teammates_call_one_shared_tool_once_each_under_one_standing_answer(staged: Stages) -> None:
    stage = staged(CALLS_ONCE, LEADHAND_PERMISSIONS_ALLOW="connect_mcp(faulty)")
    stage.init()
    notes, configured = stage.place / "notes", stage.place / "mcp.json"
    entry = {"command": sys.executable, "args": [str(FAULTY)], "env": {"NOTES": str(notes)}, "share": True}
    configured.write_text(json.dumps({"mcpServers": {"faulty": entry}}))
    follow = stage.start("approvals", "--follow", "--json")
    stage.wait(lambda: any((stage.root / ".team/approvers").glob("*.json")), "somebody who looks")
    run = stage.start_tasks(
        *({"key": key, "subject": key, "checks": ["any"]} for key in "ab"),
        workers=2,
        options=("--json", "--mcp-config", str(configured)),
    )
    assert stage.leadhand("approve", request_of(stage), "--for-team").code == 0
    assert run.end().code == 0
    workers = {f"worker-{n}" for n in (1, 2)}
    called = stage.events("mcp_called", tool="echo", outcome="verify_business")
    assert sorted(event["who"].partition("~")[0] for event in called) == sorted(workers)
    relayed = stage.events("mcp_relayed", tool="echo", ended="answered")
    assert {event["member"] for event in relayed} == workers
    methods = [json.loads(line)["method"] for line in notes.read_text().splitlines()]
    assert (methods.count("initialize"), methods.count("tools/call")) == (1, 2)
    [standing] = json.loads(stage.leadhand("approvals", "--json").out)["standing"]
    assert (standing["tool"], standing["allow"]) == ("mcp__faulty__echo", True)
    stage.wait(lambda: not processes_with(str(FAULTY)), "the end of the server")
    follow.signal(signal.SIGTERM).end()


CALLS_AGAIN = """
  - when: {tools_called: ^$}
    call: {connect_mcp: {name: faulty}}
  - when: {tools_called: ^connect_mcp$}
    call: {mcp__faulty__echo: {say: hello}}
  - when: {tools_called: echo$, results: outcome_unknown, last_result: unknown_tool.*connect_mcp connects it}
    call: {connect_mcp: {name: faulty}}
  - when: {tools_called: connect_mcp mcp__faulty__echo bash mcp__faulty__echo connect_mcp$}
    call: {mcp__faulty__echo: {say: again}}
  - when: {tools_called: connect_mcp mcp__faulty__echo$, results: unknown_tool, last_result: verify_business}
    call: {complete_task: {summary: it said hello again}}
  - when: {last_result: outcome_unknown}
    call: {mcp__faulty__echo: {say: too early}}
  - call: {bash: {command: '@WAIT@'}}
"""


def test_who_goes_on_for_a_killed_teammate_connects_its_servers_anew(staged: Stages) -> None:
    allowed = "bash,connect_mcp(faulty),mcp__faulty__echo"
    stage = staged(CALLS_AGAIN, LEADHAND_PERMISSIONS_ALLOW=allowed, LEADHAND_GUARD_TRUSTED_SERVERS="faulty")
    stage.init()
    configured = stage.place / "mcp.json"
    entry = {"command": sys.executable, "args": [str(FAULTY)]}
    configured.write_text(json.dumps({"mcpServers": {"faulty": entry}}))
    run = stage.start_tasks(SET_A | {"checks": ["any"]}, options=("--json", "--mcp-config", str(configured)))
    stage.wait(lambda: any("until [ -e" in command for command in stage.living()), "the long command")
    name = stage.owner("set a")
    stage.kill(stage.pid(name))
    stage.let_go()
    assert run.end().code == 0
    reminded = [text for text in told(of_teammate(stage, name)) if "tools of faulty again" in text]
    assert len(reminded) == 1
    assert len(stage.events("mcp_connected")) == 2
    assert [event["outcome"] for event in stage.events("mcp_called", tool="echo")] == ["verify_business"] * 2
