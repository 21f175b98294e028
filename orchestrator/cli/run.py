"""The verbs that start processes which lead or work: run, resume, worker."""

from __future__ import annotations

import functools
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordination.concealment import conceal
from coordination.errors import UsageError
from harness.roles.settings import MOST_WORKERS
from orchestrator.cli.shared import config_option, json_option, persons_stores, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.lead.options import RunOptions


FLAGS = {  # options that are settings, stronger than those of every file
    "allow": "permissions.allow",
    "mcp_config": "mcp.config",
    "sandbox": "sandbox",
    "max_usd": "limits.team.max_usd",
    "max_tokens": "limits.team.max_tokens",
    "max_minutes": "limits.team.max_minutes",
}
OPTIONS = (
    click.option("--model", help="Model of the lead, from now on (MODEL_ID)."),
    click.option("--workers", type=click.IntRange(1, MOST_WORKERS), help="Agree to this many teammates."),
    click.option("--yes", is_flag=True, help="Agree to the proposed team beforehand."),
    click.option("--allow", multiple=True, metavar="RULE", help="Allow calls, as in bash(npm *)."),
    click.option(
        "--sandbox",
        type=click.Choice(["auto", "bwrap", "off"]),
        help="Run commands inside bubblewrap, or as you.",
    ),
    config_option,
    json_option,
    click.option(
        "--no-input", is_flag=True, help="Never ask; end with exit code 3 where a person is needed."
    ),
    click.option("--max-usd", type=float, help="Stop the team at so much money (exit code 4)."),
    click.option("--max-tokens", type=int, help="Stop the team at so many tokens."),
    click.option("--max-minutes", type=float, help="Stop the team after so much time."),
    team_option,
)


def run_options(verb: Callable[..., int]) -> Callable[..., int]:
    """What `run` and `resume` both take, which the verb is given as its `options`."""

    @functools.wraps(verb)
    def with_options(**given: Any) -> int:  # noqa: ANN401 - of the kind that each option names
        from orchestrator.lead.options import RunOptions

        conceal()
        flags = {setting: given.pop(name) for name, setting in FLAGS.items()}
        own = {one.name: given.pop(one.name) for one in fields(RunOptions) if one.name in given}
        flags = {setting: list(of) or None if isinstance(of, tuple) else of for setting, of in flags.items()}
        return verb(options=RunOptions(flags=flags, **own), **given)

    for option in reversed(OPTIONS):
        with_options = option(with_options)
    return with_options


@click.command()
@click.argument("goal", required=False)
@click.option("-f", "--file", "goal_file", type=click.Path(path_type=Path), help="Read the goal from a file.")
@click.option("--tasks", "tasks_file", type=click.Path(path_type=Path), help="Run the tasks of a YAML file.")
@click.option("--worker-model", help="Model of teammates; without it the lead's.")
@run_options
def run(*, goal: str | None, goal_file: Path | None, tasks_file: Path | None, options: RunOptions) -> int:
    """Start a lead with GOAL; it plans, starts teammates, and brings their work to a branch."""
    from orchestrator.lead.session import start_run

    return start_run(options, goal=_goal(goal, goal_file, tasks_file), tasks_file=tasks_file)


def _goal(goal: str | None, goal_file: Path | None, tasks_file: Path | None) -> str:
    if sum(given is not None for given in (goal, goal_file)) > 1:
        raise UsageError(detail="give the goal either as text or with -f, not both")
    if goal_file:
        goal = _written(goal_file)
    if goal is None and tasks_file:
        goal = f"the tasks of {tasks_file.name}"
    if not goal or not goal.strip():
        raise UsageError(detail='say what you want: leadhand run "make the failing tests pass"')
    return goal.strip()


def _written(goal_file: Path) -> str:
    from harness.regular_files import FileUnusable, read_regular

    try:
        return read_regular(goal_file).decode("utf-8-sig")
    except FileNotFoundError:
        why = "there is no such file"
    except FileUnusable as error:
        why = error.why
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8 at byte {error.start}; save it as UTF-8"
    raise UsageError(detail=f"cannot read the goal from {goal_file}: {why}")


def _look_only(team_directory: Path | None, *, as_json: bool) -> None:
    """How the team stands is shown, on a host that may do no more than look."""
    from orchestrator.inspection.status import render, status

    if not as_json:
        echo(render(status(persons_stores(team_directory))))


@click.command()
@run_options
def resume(*, options: RunOptions) -> int:
    """Go on with the open run as its next lead, from what is on disk."""
    from coordination.keys import KeyNotAccepted
    from orchestrator.lead.session import resume_run

    try:
        return resume_run(options)
    except KeyNotAccepted:
        _look_only(options.team_directory, as_json=options.as_json)
        raise


@click.command()
@click.option("--name", required=True, help="Name of the teammate: letters, digits, - and _.")
@click.option("--role", help="Its role, as `leadhand roles` lists them.")
@team_option
def worker(*, name: str, role: str | None, team_directory: Path | None) -> None:
    """Join the team by hand, as a teammate in this terminal."""
    from harness.settings.settings import load_settings
    from orchestrator.launchers.local import become_teammate
    from orchestrator.lead.opening import find_team
    from workspace.sandbox.choice import choose

    team = find_team(Path.cwd(), team_directory)
    ask = click.confirm if sys.stdin.isatty() else None
    choose(load_settings(team.root).sandbox, team.repository, ask)  # the teammate cannot ask
    become_teammate(team.root, name, role)
