"""What the lead's model is told by its host."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from harness.tools.tasks import one_line
from harness.tools.todo import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coordination.records import Member, Request, Run, Task
    from orchestrator.lead.standing import Standing


def goal_brief(run: Run) -> str:
    """The person's goal, as it starts a run."""
    return run.goal


def resumed_brief(
    run: Run, tasks: Iterable[Task], members: Iterable[Member], open_questions: Iterable[str]
) -> str:
    """A snapshot for a lead that takes a run over with nothing but what is on disk."""
    board = "\n".join(one_line(task) for task in tasks) or "no tasks yet"
    team = "\n".join(f"{member.name} [{member.state}]" for member in members) or "nobody"
    asked = "\n".join(open_questions) or "none"
    return (
        f"{run.goal}\n\n[Resumed] An earlier lead of this run has ended; you take over. From the disk:\n\n"
        f"Tasks:\n{board}\n\nTeam:\n{team}\n\nOpen plan requests:\n{asked}\n\n"
        "Go on from here: start teammates where tasks are ready and nobody works on them."
    )


def present_state(
    run: Run,
    tasks: Iterable[Task],
    members: Iterable[Member],
    *,
    todos: list[dict[str, Any]],
    budget: Sequence[str],
) -> str:
    """What a summary of the lead's history must not lose."""
    board = [one_line(task) for task in tasks] or ["no tasks yet"]
    team = [f"{member.name} [{member.state}]" for member in members] or ["nobody"]
    own = ["your todos:", shown(todos)] if todos else []
    return "\n".join(
        [f"run {run.id} on branch {run.branch}", "tasks:", *board, "team:", *team, *own, *budget]
    )


def end_brief(tasks: Iterable[Task], standing: Standing) -> str:
    """Nothing is left to do, or nobody is left to do it."""
    board = "\n".join(escape(one_line(task), quote=False) for task in tasks)
    return (
        f'<team_event type="{standing}">\n{board}\n</team_event>\n'
        "The run ends here. In a few sentences, tell the person what was done and what is open."
    )


def forgotten_brief(plans: Iterable[Request]) -> str:
    """Teammates wait for decisions that the lead's model did not make."""
    rows = "\n".join(escape(f"{plan.id} of {plan.asker}: {plan.subject}", quote=False) for plan in plans)
    return (
        f'<team_event type="plans_wait">\n{rows}\n</team_event>\n'
        "Their authors do nothing until you decide. Approve or reject each with review_plan now."
    )


def unanswered_brief(names: Iterable[str]) -> str:
    """Teammates wait for answers that the lead's model did not give, or gave to nobody."""
    rows = "\n".join(escape(name, quote=False) for name in names)
    return (
        f'<team_event type="answers_wait">\n{rows}\n</team_event>\n'
        "They asked you and do nothing until you answer. What you say here does not reach them: "
        "write to each with send_message now."
    )


def nobody_works_brief(tasks: Iterable[Task]) -> str:
    """Tasks are ready, and there is no teammate for them."""
    board = "\n".join(escape(one_line(task), quote=False) for task in tasks)
    return (
        f'<team_event type="nobody_works">\n{board}\n</team_event>\n'
        "Tasks are left and no live teammate may take them. Start one, or say why not."
    )
