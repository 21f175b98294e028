"""What a teammate is told when its work begins, goes on, or has to be done better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.tools.todo import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from coordination.records import Decision, Member, PlanState, Task


PLAN_NEWS = "[Plan "  # how the word begins of what became of a plan
PLAN_VOID = f"{PLAN_NEWS}void] a new plan is wanted."


def briefing(task: Task, tree: Path, checks: Mapping[str, str], *, plan_required: bool) -> str:
    """The first words of a conversation about a task."""
    parts = [f"[Assigned {task.id}] {task.subject}", task.description, f"Work directory: {tree}"]
    if checks:
        named = "\n".join(f"  {name}: {command}" for name, command in checks.items())
        parts.append(f"It is done when these pass on a clean checkout of your commit:\n{named}")
    if task.resumed_from or task.attempts:
        parts.append("Somebody worked on this before; what was committed then is in your tree.")
    if plan_required:
        parts.append("A plan is required: read, then call submit_plan before you change anything.")
    parts.append("Change files only in your work directory. When it is done, call complete_task.")
    return "\n\n".join(part for part in parts if part)


def task_state(task: Task, tree: Path, plan: PlanState) -> list[str]:
    """Where the task stands, its tree and its plan."""
    return [
        f"your task: {task.id} [{task.status}] {task.subject}",
        f"work directory: {tree}",
        f"plan: {plan}",
    ]


def present_state(
    task: Sequence[str], team: Sequence[Member], todos: list[dict[str, Any]], budget: Sequence[str]
) -> str:
    """What a summary must not lose: where the task and the team stand, what is to do, what is left."""
    lines = [
        *(task or ["you have no task"]),
        *(f"on the team: {member.name} [{member.state}]" for member in team),
    ]
    return "\n".join([*lines, *(["your todos:", shown(todos)] if todos else []), *budget])


def plan_decided(decision: Decision) -> str:
    """What became of the plan that was submitted."""
    verdict = "approved" if decision.verdict == "approve" else "rejected"
    feedback = f"\n{decision.reason}" if decision.reason else ""
    return f"{PLAN_NEWS}{verdict}] by {decision.by.partition('~')[0]}{feedback}"


def not_completed(task: Task) -> str:
    """The turn ended, but the task did not."""
    left = task.max_attempts - task.refusals
    return (
        f"[Still open] {task.id} is not completed. Call complete_task when the work is done, "
        f"or send the lead a message if you cannot go on. ({left} more tries)"
    )
