"""Roles from files through the real command: proposal, model, prompt, tools, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


READER = """---
name: reader
description: Reads and reports.
tools: Read, Grep, SendMessage
model: small
---

Be brief.
"""
PLAY = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: look, description: look at it, roles: [cook]}
      - create_task: {subject: look, description: look at it, roles: [reader]}
      - spawn_teammate: {name: rita, role: cook}
      - spawn_teammate: {name: rita, role: broken}
      - spawn_teammate: {name: rita, role: reader}
  - when: {system: 'role=lead[\\s\\S]*- reader: Reads and reports. .tools read_file, grep'}
    say: All right.
  - when: {system: 'role=teammate name=rita[\\s\\S]*# Your role: reader\\nBe brief.', tools_called: ^$}
    call:
      - write_file: {path: a.py, content: spoilt}
      - bash: {command: rm a.py}
      - read_file: {path: a.py}
  - when: {system: role=teammate, tools_called: read_file$}
    call: {complete_task: {summary: a is 1}}
  - when: {system: role=teammate}
    say: Done.
models: [scripted, small]
"""


@pytest.fixture
def stage(staged: Stages) -> Stage:
    made = staged(PLAY)
    roles = made.root / ".agents" / "roles"
    roles.mkdir(parents=True)
    (roles / "reader.md").write_text(READER, encoding="utf-8")
    (roles / "broken.md").write_text("---\nname: broken\n---\nNo description.\n", encoding="utf-8")
    return made


def test_a_member_has_prompt_model_and_tools_of_its_role_and_no_others(stage: Stage) -> None:
    ended = stage.leadhand("run", "look at it", "--yes", "--json")
    assert ended.code == 3, ended  # no check proves it
    proposal = ended.event("proposal")
    assert [(role["name"], role["file"]) for role in proposal["roles"]] == [
        ("reader", ".agents/roles/reader.md")
    ]
    assert [(member["role"], member["model"]) for member in proposal["members"]] == [("reader", "small")]
    refused = [event["reason"] for event in stage.events("tool_failed", who="lead~1")]
    assert refused == ["unknown_role", "unknown_role", "role_broken"]
    rita = stage.stores.roster.member("rita")
    assert rita
    who = f"rita~{rita.incarnation}"
    unknown = [event["tool"] for event in stage.events("tool_refused", reason="unknown_tool")]
    assert unknown == ["write_file", "bash"]
    assert [event["tool"] for event in stage.events("tool_ran", who=who)] == ["read_file", "complete_task"]
    assert {event["model"] for event in stage.events("model_call", who=who)} == {"small"}
    said = " ".join(event["text"] for event in ended.events if event["action"] == "said")
    assert "the role broken cannot be used: .agents/roles/broken.md: error: there is no description" in said


def test_roles_are_listed_shown_and_asked_for_by_hand(stage: Stage) -> None:
    listed = stage.leadhand("roles")
    assert listed.code == 1
    assert (
        "reader           small                Reads and reports. (tools read_file, grep, send_message)"
        in (listed.out)
    )
    assert ".agents/roles/broken.md: error: there is no description" in listed.out
    assert "Be brief." in stage.leadhand("roles", "show", "reader").out
    stage.init()
    assert (
        "known are: reader, teammate" in stage.leadhand("worker", "--name", "zoe", "--role", "cook").complaint
    )
    worker = stage.start("worker", "--name", "rita", "--role", "reader")
    stage.wait(lambda: stage.events("alive") != [], "the worker")
    rita = stage.stores.roster.member("rita")
    assert rita
    assert (rita.role, rita.model) == ("reader", "small")
    full = stage.start("worker", "--name", "rob")
    stage.wait(lambda: len(stage.events("alive")) == 2, "the second")
    stage.environment["LEADHAND_WORKERS_MAX"] = "2"
    assert "no more are allowed" in stage.leadhand("worker", "--name", "tom").complaint
    assert stage.leadhand("stop").code == 0
    assert (worker.end().code, full.end().code) == (0, 0)


def test_a_tasks_file_for_a_role_that_there_is_none_of_starts_nobody(stage: Stage) -> None:
    ended = stage.start_tasks({"key": "a", "subject": "cook", "role": "cook"}).end()
    assert ended.code == 2
    assert "no role cook; known are: reader, teammate" in ended.complaint
    assert stage.stores.runs.open_run() is None
