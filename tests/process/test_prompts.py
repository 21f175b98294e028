"""What people say to a lead first, through the real command in a pseudo-terminal, with the scripted model."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination.background import JobState
from coordination.schedule_rules import EntryState
from tests.support.indicators import Indicators, watch_calls
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.process.conftest import Stages
    from tests.support.team_process import Stage

GATED = "every call through hooks and permission"
SHIFTED = Path(__file__).resolve().parents[1] / "support" / "shifted_command.py"

INSPECT = """
  - when: {tools_called: ^$}
    call:
      - glob: {pattern: '**/*.py'}
      - read_file: {path: a.py}
  - say: a.py matters most.
"""
SEARCH = """
  - when: {tools_called: ^$}
    call: {connect_mcp: {name: docs}}
  - when: {tools_called: ^connect_mcp$}
    call: {mcp__docs__search: {words: loop}}
  - when: {tools_called: ^connect_mcp mcp__docs__search$, last_result: 'A loop calls the model'}
    say: The guidance is to call the model until it asks for no tool.
"""
DOCS = """
from mcp.server import MCPServer

server = MCPServer("docs", version="1.0.0")


@server.tool()
def search(words: str) -> str:
    \"\"\"Find pages about these words.\"\"\"
    return "A loop calls the model until it asks for no tool."


server.run("stdio")
"""
REMIND = """
  - when: {last_user: '\\[Scheduled cron_\\w+, due [^]]*\\] the meeting'}
    say: It is time for the meeting.
  - when: {last_user: 'Remind me', tools_called: ^$}
    call: {schedule_cron: {in_minutes: 3, prompt: the meeting}}
  - say: I will remind you.
"""
INSTALL = """
  - when: {tools_called: ^$}
    call: {create_task: {subject: install, description: install the dependencies}}
  - when: {tools_called: ^create_task$, last_result: 'created (?P<task>task_\\w+)'}
    call: {claim_task: {task_id: '${task}'}}
  - when: {tools_called: claim_task$}
    call:
      - bash: {command: '@WAIT@; echo installed', run_in_background: true}
      - read_file: {path: README.md}
  - when: {last_user: 'task_notification id="\\S+" status="completed"', tools_called: read_file$}
    call: {complete_task: {summary: installed}}
  - when: {tools_called: complete_task$}
    say: All is installed.
  - say: I have read it, and wait for the installation.
"""

REFACTOR = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: authentication module, description: refactor it}
      - create_task: {subject: login page, description: refactor it}
  - when:
      system: role=lead
      tools_called: ^create_task create_task$
      last_result: 'created (?P<one>task_\\w+)[\\s\\S]*created (?P<two>task_\\w+)'
    call:
      - spawn_teammate: {name: ann, task_id: '${one}', require_plan: true}
      - spawn_teammate: {name: bob, task_id: '${two}', require_plan: true}
  - when: {system: role=lead}
    say: They show you their plans first.
  - when: {system: role=teammate, tools_called: ^$}
    call: {submit_plan: {plan: I move it apart.}}
  - when: {system: 'role=teammate name=(?P<name>\\w+)', tools_called: submit_plan$}
    call: {write_file: {path: '${name}.txt', content: moved}}
  - when: {system: role=teammate, tools_called: write_file$}
    call: {complete_task: {summary: moved apart}}
  - say: Done.
"""


@pytest.fixture
def seat() -> Iterator[Callable[..., Terminal]]:
    """Sit down at a stage; whoever sat anywhere has left at the end."""
    taken: list[Terminal] = []

    def sit(stage: Stage, *command: str) -> Terminal:
        words = command or (sys.executable, "-P", "-m", "orchestrator.cli.main")
        taken.append(Terminal(words, cwd=stage.root, environment=stage.environment))
        return taken[-1]

    yield sit
    for terminal in taken:
        terminal.close()


def leaves(stage: Stage, terminal: Terminal) -> set[str]:
    """The person leaves, and all eight indicators hold; returns those that there was something to see of."""
    terminal.types("/quit")
    assert terminal.end() == 0, terminal.text
    stage.nobody_is_left()
    return Indicators(stage).check()


def test_an_inspection_only_reads_and_asks_nothing(staged: Stages, seat: Callable[..., Terminal]) -> None:
    stage = staged(INSPECT)
    watch_calls(stage)
    terminal = seat(stage)
    terminal.sees("you>")
    terminal.types("Inspect this repository and tell me which Python files matter most")
    terminal.sees("a.py matters most")
    seen = leaves(stage, terminal)
    assert seen == {GATED}
    assert {event["tool"] for event in stage.events("tool_ran")} == {"glob", "read_file"}
    assert stage.events("tool_refused") == []
    assert stage.stores.requests.open() == []
    assert stage.person.git("status", "--porcelain") == ""


def test_connected_documentation_is_searched_with_tools_that_come_late(
    staged: Stages, seat: Callable[..., Terminal]
) -> None:
    stage = staged(SEARCH)
    stage.environment["LEADHAND_PERMISSIONS_ALLOW"] = "connect_mcp,mcp__docs__search"
    script = stage.place / "docs.py"
    script.write_text(DOCS, encoding="utf-8")
    config = Path(os.environ["HOME"]) / ".config" / "leadhand" / "mcp.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    servers = {"docs": {"command": sys.executable, "args": ["-P", str(script)]}}
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    watch_calls(stage)
    terminal = seat(stage)
    terminal.sees("you>")
    terminal.types("Search the connected documentation for agent loop guidance")
    terminal.sees("until it asks for no tool")
    seen = leaves(stage, terminal)
    assert seen == {GATED, "tools of servers in the next round"}
    assert [event["tool"] for event in stage.events("tool_ran")] == ["connect_mcp", "mcp__docs__search"]


def test_a_reminder_comes_in_time_also_after_a_restart(staged: Stages, seat: Callable[..., Terminal]) -> None:
    stage = staged(REMIND)
    watch_calls(stage)
    stage.environment["SHIFT_FILE"] = str(stage.place / "shift")
    first = seat(stage, sys.executable, str(SHIFTED))
    first.sees("you>")
    first.types("Remind me about the meeting in 3 minutes")
    first.sees("I will remind you")
    (entry,) = stage.stores.schedule.all()
    first.process.kill()
    second = seat(stage, sys.executable, str(SHIFTED))
    second.sees("leads again")
    calls = len(stage.events("model_call"))
    stage.wait(lambda: len(stage.events("model_call")) >= calls, "the resumed lead")
    assert stage.events("schedule_fired") == []
    (stage.place / "shift").write_text("181", encoding="utf-8")
    second.sees("It is time for the meeting")
    stage.wait(lambda: stage.stores.schedule.get(entry.id).state is EntryState.DONE, "the delivery")
    seen = leaves(stage, second)
    assert seen == {GATED, "the schedule fires in time"}
    assert len(stage.events("schedule_fired")) == 1


def test_two_refactor_in_trees_of_their_own_after_the_person_has_seen_their_plans(
    staged: Stages, seat: Callable[..., Terminal]
) -> None:
    stage = staged(REFACTOR, LEADHAND_PLAN_REVIEWER="person")
    watch_calls(stage)
    terminal = seat(stage)
    terminal.sees("you>")
    terminal.types(
        "Refactor the authentication module and login page in parallel in separate worktrees. "
        "Show me each plan before editing"
    )
    terminal.sees(r"(?s)start this team.*answer>")
    terminal.types("yes")
    stage.wait(lambda: len(stage.events("plan_submitted")) == 2, "both plans")
    stage.wait(lambda: all(member.waiting_on for member in stage.stores.roster.all()), "both to wait")
    assert stage.leadhand("tasks").out.count(", waits for the decision of the person on its plan (req_") == 2
    assert {event["tool"] for event in stage.events("tool_ran") if event["who"] != "lead~1"} == {
        "submit_plan"
    }
    trees = {task.worktree for task in stage.stores.tasks.all()}
    assert len(trees) == 2
    for event in stage.events("plan_submitted"):
        terminal.types(f"/approve {event['request']}")
    stage.wait(lambda: len(stage.events("completed")) == 2, "both to complete")
    assert len(stage.events("claimed")) == 2
    seen = leaves(stage, terminal)
    assert seen == {
        GATED,
        "plans first, nothing before approval",
        "an idle worker claims exactly one",
        "files in the directory of the task",
        "the directory kept to the end of the turn, released at idle",
    }


def test_an_installation_goes_on_while_the_lead_reads(staged: Stages, seat: Callable[..., Terminal]) -> None:
    stage = staged(INSTALL)
    watch_calls(stage)
    (stage.root / "README.md").write_text("Read me.\n", encoding="utf-8")
    stage.person.git("add", "README.md")
    stage.person.git("commit", "--quiet", "--message", "Say something")
    terminal = seat(stage)
    terminal.sees("you>")
    terminal.types("Install the dependencies in the background while you read README.md")
    terminal.sees("wait for the installation")
    ran = [event["tool"] for event in stage.events("tool_ran")]
    assert ran == ["create_task", "claim_task", "bash", "read_file"]
    (job,) = stage.stores.jobs.all()
    assert job.state is JobState.RUNNING
    calls = len(stage.events("model_call"))
    stage.let_go()
    terminal.sees("All is installed")
    told = [line["job"] for line in stage.journal("lead~1") if line["kind"] == "background"]
    assert told == [job.id]
    assert len(stage.events("model_call")) - calls <= 3
    seen = leaves(stage, terminal)
    assert seen == {
        GATED,
        "a placeholder at once, one notification",
        "the directory kept to the end of the turn, released at idle",
    }
