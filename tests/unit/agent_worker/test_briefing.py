"""What a teammate is told of its task and of its plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_worker.briefing import briefing, not_completed, plan_decided, present_state, task_state
from coordination.records import Decision, Member, MemberState, PlanState, Status, Task, Verdict
from tests.support.people import a_task

TREE = Path("/team/.worktrees/task_00000001-3")
PLAIN = a_task(description="Use decimals.")


def test_a_briefing_names_task_directory_and_checks() -> None:
    text = briefing(PLAIN, TREE, {"unit": "pytest -q"}, plan_required=False)
    assert text.startswith("[Assigned task_00000001] Task 1\n\nUse decimals.\n\nWork directory: /team/")
    assert "clean checkout of your commit:\n  unit: pytest -q\n" in text
    assert "submit_plan" not in text
    assert text.endswith("call complete_task.")


def test_a_required_plan_is_said_before_anything_is_changed() -> None:
    assert "call submit_plan before you change anything" in briefing(PLAIN, TREE, {}, plan_required=True)


@pytest.mark.parametrize("task", [a_task(attempts=1), a_task(resumed_from=5)])
def test_work_of_somebody_before_is_mentioned(task: Task) -> None:
    assert "Somebody worked on this before" in briefing(task, TREE, {}, plan_required=False)
    assert "before" not in briefing(PLAIN, TREE, {}, plan_required=False)


@pytest.mark.parametrize(
    ("verdict", "reason", "text"),
    [
        (Verdict.APPROVE, "", "[Plan approved] by lead"),
        (Verdict.DENY, "no tests", "[Plan rejected] by lead\nno tests"),
    ],
)
def test_a_decision_is_told_with_its_feedback(verdict: Verdict, reason: str, text: str) -> None:
    assert plan_decided(Decision(verdict=verdict, by="lead~3", reason=reason, request_digest="d")) == text


def test_what_a_summary_puts_back_is_task_plan_team_todos_and_budget() -> None:
    task = a_task(status=Status.IN_PROGRESS)
    team = [Member(name="bob", state=MemberState.ALIVE, spawn_id="s")]
    todos = [{"content": "Measure", "status": "in_progress"}]
    budget = ["used of your limits:", "task: 3 of 40 turns"]
    text = present_state(task_state(task, TREE, PlanState.APPROVED), team, todos, budget)
    assert "your task: task_00000001 [in_progress] Task 1\n" in text
    assert "plan: approved\non the team: bob [alive]\nyour todos:\n" in text
    assert text.endswith("completed)\nused of your limits:\ntask: 3 of 40 turns")
    assert present_state([], team, [], []) == "you have no task\non the team: bob [alive]"


def test_an_open_task_says_how_many_tries_are_left() -> None:
    task = a_task(status=Status.IN_PROGRESS, refusals=1)
    assert "(2 more tries)" in not_completed(task)
