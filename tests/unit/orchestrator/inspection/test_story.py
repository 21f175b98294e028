"""The story of a task has what its record alone does not tell: refusals, decisions, the way back."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from coordination.protocols import Kind
from coordination.records import CheckResult, Plan, TaskResult, Verdict
from coordination.tasks.drafts import TaskDraft
from orchestrator.cli.look import tasks
from orchestrator.inspection.report import make_report, render
from orchestrator.lead.leading import review
from tests.support.people import claimant, comes_alive, stores_of

if TYPE_CHECKING:
    from coordination.records import Run, Task
    from coordination.stores import Stores
    from coordination.team_root import Team


def check(name: str, exit_code: int | None) -> CheckResult:
    return CheckResult(name=name, command="x", exit_code=exit_code, seconds=1, output="")


@pytest.fixture
def run(lead: Stores) -> Run:
    return lead.runs.open("Goal", base="0" * 40)


@pytest.fixture
def task(team: Team, lead: Stores, run: Run) -> Task:
    """A plan that was sent back, a completion that was refused, and work that was sent back."""
    (made,) = lead.tasks.create([TaskDraft(subject="Round money", run=run.id, plan_required=True)])
    lead.tasks.publish([made.id])
    alice = comes_alive(team, "alice")
    own = stores_of(team, alice)
    token = own.tasks.claim(made.id, claimant(alice)).token or 0
    digest = hashlib.sha256(b"plan").hexdigest()
    about: dict[str, Any] = {"task": made.id, "token": token, "plan": 1, "content_digest": digest}
    asked = own.requests.ask(Kind.PLAN, "Round money", reviewer="lead", question="plan", **about)
    own.tasks.submit_plan(made.id, token, Plan(number=1, digest=digest, request=asked.id))
    review(lead, asked.id, Verdict.DENY, "name the rounding")
    red = TaskResult(checks=(check("lint", 0), check("tests", 1), check("slow", None)))
    own.tasks.refuse(made.id, token, red)
    own.tasks.refuse(made.id, token, TaskResult(text="the turn ended without complete_task"))
    lead.events.record("sent_back", task=made.id, subject="x", why="it conflicts in a.py", again="task_2")
    return lead.tasks.get(made.id)


def shown(team: Team, task: Task, *options: str) -> str:
    arguments = ["--team", str(team.root), "show", task.id, *options]
    return CliRunner().invoke(tasks, arguments, catch_exceptions=False).output


def test_tasks_show_tells_decisions_refusals_and_the_way_back(team: Team, task: Task) -> None:
    text = shown(team, task)
    assert "deny         lead~1  name the rounding" in text
    assert "refuse       alice~2  tests: exit code 1, slow: no end in time" in text
    assert "refuse       alice~2  the turn ended without complete_task" in text
    assert "sent_back    lead~1  it conflicts in a.py; done again in task_2" in text


def test_programs_get_the_same(team: Team, task: Task) -> None:
    history = json.loads(shown(team, task, "--json"))["history"]
    events = [(step["event"], step["number"] is None) for step in history]
    assert ("deny", True) in events
    assert ("refuse", False) in events
    assert history[-1]["why"].endswith("done again in task_2")


def test_the_report_tells_what_was_sent_back_and_why(team: Team, lead: Stores, run: Run, task: Task) -> None:
    text = render(make_report(team, lead.tasks, run))
    assert f"sent back {task.subject} (it conflicts in a.py; done again in task_2)" in text
    assert "was turned back with Round money (tests: exit code 1, slow: no end in time)" in text
