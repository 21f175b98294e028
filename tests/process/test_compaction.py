"""A person has a member sum up its conversation while it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from coordination.orders import ask_to_compact
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from tests.process.conftest import Stages


WORKS = """
  - when: {system: role=summary, last_user: 'above all: the port'}
    say: I looked twice; the port is 5433.
  - when: {system: role=teammate, tools_called: ^$}
    say: I look.
    call:
      - bash: {command: '@WAIT@'}
      - bash: {command: echo whole result}
  - when: {system: role=teammate, results: outcome_unknown, last_user: 'port is 5433'}
    call: {complete_task: {summary: done}}
  - when: {system: role=teammate, last_result: 'Look twice\\.'}
    call: {complete_task: {summary: done}}
  - when: {system: role=teammate, last_user: 'port is 5433.*whole text is in (?P<file>\\S+) \\(read'}
    call: {read_file: {path: '${file}'}}
  - say: Good.
"""


def test_a_teammate_compacts_at_the_end_of_its_batch(staged: Stages) -> None:  # S45
    stage = staged(WORKS, LEADHAND_LIMITS_TASK_MAX_TURNS="40")
    run = stage.start_tasks({"key": "a", "subject": "Long", "description": "Look twice.", "checks": ["any"]})
    stage.wait(lambda: any("until [ -e" in command for command in stage.living()), "the long command")
    who = stage.owner("Long")
    said = stage.leadhand("compact", who, "--focus", "the port")
    assert said.out == f"{who} sums up its conversation before its next model call\n"
    stage.wait(lambda: not stage.stores.requests.open(), "the order is heard")
    assert not stage.events("context_summarized")
    stage.let_go()
    assert run.end().code == 0

    member = stage.stores.roster.member(who)
    assert member
    lines = stage.journal(f"{who}~{member.incarnation}")
    results = next(line["content"] for line in lines if line["kind"] == "tool_results")
    assert len(results) == 2
    (summary,) = [line for line in lines if line["kind"] == "context"]
    assert "Look twice." in summary["text"]  # the request, word by word
    assert f"on the team: {who} [alive]" in summary["text"]
    assert "used of your limits:\ntask: 2 of 40 turns" in summary["text"]


def test_an_order_that_a_killed_teammate_did_not_live_to_follow_is_followed_by_its_next_process(
    staged: Stages,
) -> None:
    stage = staged(WORKS)
    run = stage.start_tasks({"key": "a", "subject": "Long", "description": "Look twice.", "checks": ["any"]})
    stage.wait(lambda: any("until [ -e" in command for command in stage.living()), "the long command")
    who = stage.owner("Long")
    first = stage.stores.roster.member(who)
    stopped = psutil.Process(stage.pid(who))
    stopped.suspend()
    assert ask_to_compact(stage.stores, who, "the port")
    stage.kill(stopped.pid)
    stage.let_go()
    assert run.end().code == 0
    (summed_up,) = stage.events("context_summarized")
    assert first
    assert summed_up["who"] != f"{who}~{first.incarnation}"
    assert not stage.stores.requests.open()


def test_who_does_not_run_cannot_be_asked(staged: Stages) -> None:
    stage = staged("  - say: hi\n")
    stage.init()
    said = stage.leadhand("compact", "zoe")
    assert said.code == 2
    assert "zoe is not running; no teammate runs" in said.complaint


def test_the_lead_compacts_at_a_slash_command(staged: Stages) -> None:
    stage = staged("""
  - when: {system: role=summary}
    say: We spoke of ports.
  - when: {last_user: 'ports'}
    say: Ports it is.
  - when: {last_user: 'what was it'}
    say: It was numbers.
  - say: What?
""")
    terminal = Terminal.leadhand(cwd=stage.root, environment=stage.environment)
    try:
        terminal.sees("you>")
        terminal.types("ports")
        terminal.sees("Ports it is")
        terminal.types("/compact")
        terminal.sees("lead sums up its conversation")
        stage.wait(lambda: not stage.stores.requests.open(), "the order is heard")
        terminal.types("what was it")
        terminal.sees("It was numbers")
        terminal.types("/quit")
        assert terminal.end() == 0, terminal.text
        passing = {"checkpoint", "time"}
        kinds = [line["kind"] for line in stage.journal("lead~1") if line["kind"] not in passing]
        assert kinds[1:] == ["user", "assistant", "compact", "user", "context", "assistant"]
    finally:
        terminal.close()
