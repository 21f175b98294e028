"""The verbs by which the person decides a plan: approve, deny."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from coordination.records import Verdict
from orchestrator.cli.shared import persons_stores, team_option

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("request_id")
@team_option
def approve(*, request_id: str, team_directory: Path | None) -> None:
    """Approve a plan that waits for you; `leadhand status` lists the open ones."""
    _decide(request_id, Verdict.APPROVE, "", team_directory)


@click.command()
@click.argument("request_id")
@click.option("--reason", default="", help="What the author should do better.")
@team_option
def deny(*, request_id: str, reason: str, team_directory: Path | None) -> None:
    """Send a plan back to its author."""
    _decide(request_id, Verdict.DENY, reason, team_directory)


def _decide(request_id: str, verdict: Verdict, reason: str, team_directory: Path | None) -> None:
    from orchestrator.leading import review

    stores = persons_stores(team_directory)
    question = stores.requests.get(request_id).question
    review(stores, request_id, verdict, reason)
    done = "approved" if verdict is Verdict.APPROVE else "denied"
    click.echo(f"{done}: plan {question.plan} of {question.asker.partition('~')[0]} for {question.subject}")
