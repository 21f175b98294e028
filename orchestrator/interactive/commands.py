"""Slash commands: the verbs of the command line from within a session."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from anyio import to_thread

from coordination.errors import TeamError
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

LEAVE = frozenset({"quit", "exit"})
NOT_INSIDE = ("run", "resume", "worker", "demo", "chaos", "init")  # they lead, or make something else
HELP = "Say what you want. /quit leaves; /VERB runs one of these, and /VERB --help tells more of it."


class Commands:
    """Runs verbs in this process, away from the event loop."""

    def __init__(self, group: click.Group, team_directory: Path | None) -> None:
        """`group` has the verbs that make sense here, and no others."""
        self._group = group
        self._context = click.Context(group, info_name="leadhand", **group.context_settings)
        self._team = ["--team", str(team_directory)] if team_directory else []

    @property
    def verbs(self) -> list[str]:
        return self._group.list_commands(self._context)

    @property
    def words(self) -> list[str]:
        """What may be typed, for completion."""
        return [f"/{verb}" for verb in (*sorted(self.verbs), "help", "quit")]

    async def __call__(self, line: str) -> bool:
        """The line is done, and what is wrong with it said; False when it means to leave."""
        try:
            verb, *arguments = shlex.split(line) or ["help"]
        except ValueError as error:
            echo(f"leadhand: {error}")
            return True
        if verb in LEAVE:
            return False
        if verb == "help":
            self._help()
        elif verb not in self.verbs:
            echo(f"leadhand: there is no /{verb} here; /help lists what there is")
        else:
            await to_thread.run_sync(self._run, [*self._team, verb, *arguments])
        return True

    def _help(self) -> None:
        formatter = self._context.make_formatter()
        self._group.format_commands(self._context, formatter)
        echo(f"{HELP}\n{formatter.getvalue()}", nl=False)

    def _run(self, arguments: list[str]) -> None:
        try:
            self._group.main(args=arguments, prog_name="leadhand", standalone_mode=False)
        except click.ClickException as error:
            echo(f"leadhand: {error.format_message()}")
        except TeamError as error:
            echo(f"leadhand: {error}")
        except (click.exceptions.Exit, click.Abort):
            return
