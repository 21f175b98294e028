"""The verbs by which the person decides: approvals, approve, deny."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from coordination.errors import UsageError
from coordination.protocols import Kind
from coordination.records import Verdict
from orchestrator.cli.shared import json_option, looking_verb, persons_stores, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.records import Request
    from harness.permissions.answers import Standing
    from orchestrator.terminal.approvals import Approvals

WAITING = 3  # exit code while something waits for the person


@looking_verb
@click.option("--follow", is_flag=True, help="Show questions as they come; at a terminal answer them here.")
@json_option
@team_option
def approvals(*, follow: bool, as_json: bool, team_directory: Path | None) -> int | None:
    """Show what waits for your word, and the answers that stand; exit code 3 while something waits."""
    if follow:
        return _follow(team_directory, as_json=as_json)
    from orchestrator.terminal.approvals import Group
    from orchestrator.terminal.at_terminal import in_words
    from orchestrator.terminal.confirmation import asked_at_terminal, waits_there

    side = _side(team_directory)
    groups, with_lead, standing = side.open(), side.with_lead(), side.answers.all()
    asked = asked_at_terminal(persons_stores(team_directory))
    facts = {
        "asks_to_start": asked,
        "open": [group.to_json() for group in groups],
        "with_lead": [Group((plan,)).to_json() for plan in with_lead],
        "standing": [_fields(one) for one in standing],
    }
    told = [
        *([waits_there(asked)] if asked else []),
        *map(in_words, groups),
        *map(_with_lead, with_lead),
        *map(_standing, standing),
    ]
    show(facts, as_json, lambda: "\n\n".join(told) or "nothing waits for you")
    return WAITING if groups or asked else 0


def _fields(answer: Standing) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in answer.__struct_fields__ if name != "digest"}


def _with_lead(plan: Request) -> str:
    asker = plan.asker.partition("~")[0]
    return f"{plan.id}: {asker} plans {plan.subject}; the lead decides (`leadhand plan {plan.task}` shows it)"


def _standing(answer: Standing) -> str:
    verdict = "allowed" if answer.allow else "denied"
    where = "in all your teams" if answer.scope == "always" else "in this team"
    head = f"{answer.id}: {verdict} {where} since {answer.at}: {answer.tool}"
    return f"{head}\n    {answer.shown}\n    taken back by: leadhand approvals forget {answer.id}"


def _follow(team_directory: Path | None, *, as_json: bool) -> int:
    import anyio

    from orchestrator.terminal.following import follow_questions

    stores = persons_stores(team_directory)
    asks = not as_json and sys.stdin.isatty()
    if not as_json:
        echo(f"questions of the team at {stores.team.root} are shown as they come; Ctrl-C ends this")
    return anyio.run(follow_questions, stores, as_json, asks)


@approvals.command("forget")
@click.argument("request_id")
@team_option
def forget(*, request_id: str, team_directory: Path | None) -> None:
    """Take back an answer that stands; the next like call is asked about again."""
    answer = _side(team_directory).answers.forget(request_id)
    echo(f"forgotten: {answer.tool} is {'asked about' if answer.allow else 'no longer denied'} from now on")


@click.command()
@click.argument("request_id")
@click.option("--for-team", is_flag=True, help="From now on for every member of this team.")
@click.option("--always", is_flag=True, help="From now on in all your teams.")
@team_option
def approve(*, request_id: str, for_team: bool, always: bool, team_directory: Path | None) -> None:
    """Say yes to a call or a plan that waits for you, and to open ones like it."""
    from harness.permissions.answers import Scope

    if for_team and always:
        raise UsageError(detail="say either --for-team or --always")
    scope = Scope.ALWAYS if always else Scope.TEAM if for_team else Scope.ONCE
    question = _side(team_directory).decide(request_id, Verdict.APPROVE, scope=scope)
    echo(f"approved: {question.kind} of {question.asker.partition('~')[0]} for {question.subject}")


@click.command()
@click.argument("request_id")
@click.option("--reason", default="", help="What the asker should do instead.")
@team_option
def deny(*, request_id: str, reason: str, team_directory: Path | None) -> None:
    """Say no: a plan goes back to its author; a call is denied to the whole team from now on."""
    question = _side(team_directory).decide(request_id, Verdict.DENY, reason=reason)
    echo(f"denied: {question.kind} of {question.asker.partition('~')[0]} for {question.subject}")
    if question.kind == Kind.PERMISSION:
        echo(f"the team's later runs too; `leadhand approvals forget {request_id}` takes it back")


def _side(team_directory: Path | None) -> Approvals:
    from orchestrator.terminal.approvals import Approvals

    return Approvals(persons_stores(team_directory))
