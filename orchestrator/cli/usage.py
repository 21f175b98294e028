"""The verb for what the models used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import json_option, persons_stores, show, team_option

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--run", "run_id", help="Of this run; without it of the newest.")
@json_option
@team_option
def usage(*, run_id: str | None, as_json: bool, team_directory: Path | None) -> None:
    """Show tokens, cache hits and money by member and task, and how much of each limit is left."""
    from harness.settings.settings import load_settings
    from orchestrator.inspection.use import render, used

    stores = persons_stores(team_directory)
    run = stores.runs.get(run_id) if run_id else next(reversed(stores.runs.all()), None)
    facts: dict[str, Any] = used(stores, run, load_settings(stores.team.root))
    show(facts, as_json, lambda: render(facts))
