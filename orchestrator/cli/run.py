"""The verbs that start processes which lead or work: run, resume, worker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coordination.concealment import conceal
from coordination.errors import UsageError
from harness.roles.settings import MOST_WORKERS
from orchestrator.cli.shared import config_option, json_option, persons_stores, team_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.lead.options import RunOptions


def limit_options(verb: Callable[..., object]) -> Callable[..., object]:
    """Limits for the whole team; further ones are settings."""
    for option in (
        click.option("--max-usd", type=float, help="Stop the team at so much money (exit code 4)."),
        click.option("--max-tokens", type=int, help="Stop the team at so many tokens."),
        click.option("--max-minutes", type=float, help="Stop the team after so much time."),
    ):
        verb = option(verb)
    return verb


def limit_flags(
    max_usd: float | None, max_tokens: int | None, max_minutes: float | None
) -> dict[str, object]:
    """The limits as settings."""
    given = {"usd": max_usd, "tokens": max_tokens, "minutes": max_minutes}
    return {f"limits.team.max_{name}": value for name, value in given.items()}


def consent_options(verb: Callable[..., object]) -> Callable[..., object]:
    """The options by which a person agrees beforehand."""
    for option in (
        click.option(
            "--no-input", is_flag=True, help="Never ask; end with exit code 3 where a person is needed."
        ),
        json_option,
        config_option,
        click.option(
            "--sandbox",
            type=click.Choice(["auto", "bwrap", "off"]),
            help="Run commands inside bubblewrap, or as you.",
        ),
        click.option("--allow", multiple=True, metavar="RULE", help="Allow calls, as in bash(npm *)."),
        click.option("--yes", is_flag=True, help="Agree to the proposed team beforehand."),
        click.option(
            "--workers", type=click.IntRange(1, MOST_WORKERS), help="Agree to this many teammates beforehand."
        ),
    ):
        verb = option(verb)
    return verb


@click.command()
@click.argument("goal", required=False)
@click.option("-f", "--file", "goal_file", type=click.Path(path_type=Path), help="Read the goal from a file.")
@click.option("--tasks", "tasks_file", type=click.Path(path_type=Path), help="Run the tasks of a YAML file.")
@click.option("--model", help="Model of the lead (MODEL_ID).")
@click.option("--worker-model", help="Model of teammates; without it the lead's.")
@limit_options
@consent_options
@team_option
def run(  # noqa: PLR0913 - one parameter per option of the command
    *,
    goal: str | None,
    goal_file: Path | None,
    tasks_file: Path | None,
    model: str | None,
    worker_model: str | None,
    workers: int | None,
    yes: bool,
    allow: tuple[str, ...],
    sandbox: str | None,
    as_json: bool,
    no_input: bool,
    mcp_config: tuple[str, ...],
    max_usd: float | None,
    max_tokens: int | None,
    max_minutes: float | None,
    team_directory: Path | None,
) -> int:
    """Start a lead with GOAL; it plans, starts teammates, and brings their work to a branch."""
    from orchestrator.lead.options import RunOptions
    from orchestrator.lead.session import start_run

    conceal()
    options = RunOptions(
        team_directory=team_directory,
        model=model,
        worker_model=worker_model,
        workers=workers,
        yes=yes,
        as_json=as_json,
        no_input=no_input,
        flags={
            "permissions.allow": list(allow) or None,
            "mcp.config": list(mcp_config) or None,
            "sandbox": sandbox,
            **limit_flags(max_usd, max_tokens, max_minutes),
        },
    )
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
        click.echo(render(status(persons_stores(team_directory))))


@click.command()
@click.option("--model", help="Model of the lead from now on (MODEL_ID).")
@limit_options
@consent_options
@team_option
def resume(  # noqa: PLR0913 - one parameter per option of the command
    *,
    model: str | None,
    workers: int | None,
    yes: bool,
    allow: tuple[str, ...],
    sandbox: str | None,
    as_json: bool,
    no_input: bool,
    mcp_config: tuple[str, ...],
    max_usd: float | None,
    max_tokens: int | None,
    max_minutes: float | None,
    team_directory: Path | None,
) -> int:
    """Go on with the open run as its next lead, from what is on disk."""
    from coordination.keys import KeyNotAccepted
    from orchestrator.lead.options import RunOptions
    from orchestrator.lead.session import resume_run

    conceal()
    options: RunOptions = RunOptions(
        team_directory=team_directory,
        model=model,
        workers=workers,
        yes=yes,
        as_json=as_json,
        no_input=no_input,
        flags={
            "permissions.allow": list(allow) or None,
            "mcp.config": list(mcp_config) or None,
            "sandbox": sandbox,
            **limit_flags(max_usd, max_tokens, max_minutes),
        },
    )
    try:
        return resume_run(options)
    except KeyNotAccepted:
        _look_only(team_directory, as_json=as_json)
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
