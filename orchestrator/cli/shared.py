"""Options that several verbs take, and what they need to look at a team."""

from __future__ import annotations

import functools
import json
import shutil
import sys
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.records import Task
    from coordination.stores import Stores
    from coordination.team_root import Team

DESCRIPTION_CHARACTERS = 100  # of a skill or role in a listing
SUBJECT_CHARACTERS = 20  # of a subject that are shown however narrow the terminal is


def _or_said_before(context: click.Context, option: click.Parameter, value: Any) -> Any:  # noqa: ANN401 - any option's
    """What was said before a verb counts for it, unless it says otherwise."""
    before = context.parent
    while before and not value:
        value, before = before.params.get(str(option.name), value), before.parent
    return value


team_option = click.option(
    "--team",
    "team_directory",
    callback=_or_said_before,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory of the team; without it the top of the git repository around you.",
)
config_option = click.option(
    "--mcp-config",
    "mcp_config",
    multiple=True,
    callback=_or_said_before,
    type=click.Path(dir_okay=False, exists=True, resolve_path=True),
    help="A further file of MCP configuration; stronger than yours and the project's.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


class VerbsBelow(click.Group):
    """The verbs below a verb, each told in full."""

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = ((name, command.help or "") for name, command in sorted(self.commands.items()))
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.partition("\n\n")[0].split())) for name, text in told])


def looking_verb(verb: Callable[..., int | None]) -> click.Group:
    """A verb that looks; what does more is a verb below it, which runs instead of it."""

    @functools.wraps(verb)
    def unless_further(**given: Any) -> int | None:  # noqa: ANN401 - of the kind that each option names
        return None if click.get_current_context().invoked_subcommand else verb(**given)

    return click.group(cls=VerbsBelow, invoke_without_command=True)(unless_further)


def persons_stores(team_directory: Path | None) -> Stores:
    """The stores of the team around the working directory, as the person. Raises NoTeam."""
    from coordination.protocols import PERSON
    from coordination.stores import open_stores
    from orchestrator.lead.opening import find_team

    return open_stores(find_team(Path.cwd(), team_directory), PERSON)


def place_of(team_directory: Path | None) -> tuple[Path, Path, Team | None]:
    """Root and repository of the team here; without a team those that one would have."""
    from coordination.team_root import NoTeam
    from orchestrator.lead.opening import find_team

    try:
        team = find_team(Path.cwd(), team_directory)
    except NoTeam:
        return (*place_without_team(team_directory), None)
    return team.root, team.repository, team


def place_without_team(team_directory: Path | None) -> tuple[Path, Path]:
    """Root and repository that a team here would have."""
    from coordination.team_root import find_root

    here = find_root(Path.cwd()) or Path.cwd()
    return team_directory or here, here


def begin_of(text: str) -> str:
    """So many of its words as a listing has room for."""
    return shorten(text, DESCRIPTION_CHARACTERS, placeholder=" …")


def fitted(task: Task, row: Callable[[Task], str]) -> str:
    """The row of a task; at a terminal its subject is cut so that the row stays on one line."""
    line = row(task)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else len(line)
    over = len(line) - width
    if over <= 0:
        return line
    from msgspec.structs import replace

    kept = max(SUBJECT_CHARACTERS, len(task.subject) - over - 1)
    return row(replace(task, subject=f"{task.subject[:kept]}…"))


def show(data: Any, as_json: bool, text: Callable[[], str]) -> None:  # noqa: ANN401, FBT001 - raw JSON; a flag
    """Print the one or the other."""
    echo(json.dumps(data, indent=2, ensure_ascii=False) if as_json else text())
