"""The verb that makes a team directory, and proposes the settings of its repository."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.shared import json_option, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from coordination.team_root import Team
    from harness.trust.records import NotTrusted
    from orchestrator.first_settings import FirstSettings


@click.command()
@click.option("--yes", is_flag=True, help="Write the proposed leadhand.yaml without a question.")
@json_option
@team_option
def init(*, yes: bool, as_json: bool, team_directory: Path | None) -> None:
    """Make this repository's team directory, and propose set-up and checks for its leadhand.yaml.

    The file is written only after your word, and never over one that is there.
    """
    from orchestrator.first_settings import first_settings, write_settings
    from orchestrator.lead.opening import make_team

    team, git = make_team(Path.cwd(), team_directory)
    proposed = first_settings(git.place.tree)
    is_there = (team.root / "leadhand.yaml").exists()
    if not as_json:
        echo(f"team directory {team.root} for the repository {git.place.tree}")
        echo(_proposal(proposed, is_there=is_there))
    wanted = bool(proposed.settings) and not is_there
    written = wanted and (yes or (not as_json and _agreed())) and write_settings(team.root, proposed)
    why = _trust(team, written=written)
    facts = _facts(team, proposed, written=written) | {"trusted": why is None}
    if as_json or (outcome := _outcome(why, written=written, wanted=wanted)):
        show(facts, as_json, lambda: outcome)


def _trust(team: Team, *, written: bool) -> NotTrusted | None:
    """What was written with the person's word needs no other; why the repository is not trusted yet."""
    from harness.settings.settings import load_settings
    from orchestrator.trusting import place_of, present_catalogs, trust_written, unseen

    place, settings = place_of(team), load_settings(team.root)
    if written:
        return trust_written(place, settings)
    return unseen(place, present_catalogs(place, settings).files)


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return click.prompt("write this leadhand.yaml? [y/N]", default="", show_default=False).lower() in {
        "y",
        "yes",
    }


def _proposal(proposed: FirstSettings, *, is_there: bool) -> str:
    from orchestrator.first_settings import allow_text

    if not proposed.settings:
        unknown = "nothing is known of how this project is set up and tested"
        if is_there:
            return f"leadhand.yaml is there and stays as it is; beyond it {unknown}"
        return f"{unknown}; say what proves work in leadhand.yaml, as in `checks: {{tests: COMMAND}}`"
    title = (
        "leadhand.yaml is there and stays as it is; proposed would be:"
        if is_there
        else "proposed leadhand.yaml:"
    )
    parts = [title, proposed.text(), allow_text(proposed)]
    if proposed.missing:
        parts.append(f"not installed on this machine: {', '.join(proposed.missing)}")
    return "\n".join(parts)


def _outcome(why: NotTrusted | None, *, written: bool, wanted: bool) -> str:
    lines = []
    if written:
        lines = ["leadhand.yaml is written; look it over, and commit it if others shall use it too"]
    elif wanted:
        lines = ["nothing is written; `leadhand init --yes` writes it"]
    return "\n".join([*lines, *([str(why)] if why else [])])


def _facts(team: Team, proposed: FirstSettings, *, written: bool) -> dict[str, object]:
    return {
        "team": str(team.root),
        "found": [one.name for one in proposed.found],
        "settings": proposed.settings,
        "allow": list(proposed.allow),
        "missing": list(proposed.missing),
        "written": written,
    }
