"""The verb by which the person merges the work of one task: merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import json_option, persons_stores, show, team_option

if TYPE_CHECKING:
    from pathlib import Path

NOT_MERGED = 1


@click.command()
@click.argument("task_id", required=False)
@json_option
@team_option
def merge(*, task_id: str | None, as_json: bool, team_directory: Path | None) -> int:
    """Bring the work of one task to the branch of its run; without TASK_ID show what waits for that.

    Everything is proven as when the lead merges. Your command is the word that work without checks needs.
    """
    from harness.settings.settings import load_settings
    from orchestrator.merging.by_hand import merge_by_hand, waiting
    from orchestrator.trusting import place_of, seen_catalogs

    stores = persons_stores(team_directory)
    if task_id is None:
        rows = waiting(stores)
        show(rows, as_json, lambda: "\n".join(map(_row, rows)) or "nothing waits for its merge")
        return 0
    settings = load_settings(stores.team.root)
    seen_catalogs(place_of(stores.team), settings)  # its checks are about to run
    facts = merge_by_hand(stores, settings, task_id)
    show(facts, as_json, lambda: _told(facts))
    return 0 if facts["merged"] else NOT_MERGED


def _row(row: dict[str, Any]) -> str:
    return f"{row['task']}  {row['subject']}  ({row['commit']:.10}): {row['why']}"


def _told(facts: dict[str, Any]) -> str:
    subject, branch = facts["subject"], facts["branch"]
    if facts["merged"] is None:
        return f"not merged, {branch} is as it was: {subject}: {facts['why']}"
    if why := facts.get("why"):
        return f"{subject} is on {branch} as {facts['merged']:.10}: {why}"
    checks = ", ".join(facts["checks"])
    proof = f"checks passed: {checks}" if checks else "unverified: no check proves it"
    return f"merged {subject} into {branch} as {facts['merged']:.10} ({proof})"
