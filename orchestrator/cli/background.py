"""The verb for commands that agents run in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.shared import json_option, looking_verb, persons_stores, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

LINES = 50  # of a tail, if not asked otherwise


@looking_verb
@json_option
@team_option
def background(*, as_json: bool, team_directory: Path | None) -> None:
    """Show the commands that run beside the conversations of the agents, and how others ended."""
    from harness.tools.background_news import one_line

    jobs = persons_stores(team_directory).jobs.all()
    show(
        [job.to_json() for job in jobs],
        as_json,
        lambda: "\n".join(f"{one_line(job)} ({job.bearer.partition('~')[0]})" for job in jobs) or "none yet",
    )


@background.command()
@click.argument("job_id", metavar="ID")
@click.option("--lines", type=click.IntRange(min=1), default=LINES, show_default=True)
@team_option
def tail(job_id: str, *, lines: int, team_directory: Path | None) -> None:
    """Show the last lines that a background command has printed so far."""
    from harness.tools.background_news import standing, tail_of

    stores = persons_stores(team_directory)
    job = stores.jobs.get(job_id)
    echo(tail_of(stores.team.directory, job, lines=lines))
    echo(f"[{job.id}: {standing(job)}]", err=True)


@background.command()
@click.argument("job_id", metavar="ID")
@team_option
def kill(job_id: str, *, team_directory: Path | None) -> None:
    """End a background command with everything it started; its agent is told."""
    from orchestrator.stopping import end_job

    stores = persons_stores(team_directory)
    echo(end_job(stores, stores.jobs.get(job_id)))
