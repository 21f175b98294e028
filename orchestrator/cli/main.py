"""The command `leadhand`: verbs by group, imported only when called."""

from __future__ import annotations

import difflib
import importlib
import keyword
import logging
import os
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import platformdirs

from coordination.errors import NO_ROOM, TeamError, cause_of, refusal_of
from orchestrator.cli.shared import team_option
from orchestrator.terminal.plain import echo, is_colorless

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import TextIO

FAILED = 1
USAGE = 2  # usage, configuration or trust (DESIGN 13)
INTERRUPTED = 130
STDERR = 2  # the last of the numbers that programs write to unasked

# group, verb, module of orchestrator.cli, help
VERBS = (
    ("daily", "run", "run", "start a lead with a goal"),
    ("daily", "resume", "run", "go on with the open run as its next lead"),
    ("daily", "status", "look", "tasks, members and open questions"),
    ("daily", "approvals", "decide", "what waits for your word, and the answers that stand"),
    ("daily", "approve", "decide", "say yes to a call or a plan that waits for you"),
    ("daily", "deny", "decide", "say no, with the reason"),
    ("daily", "send", "act", "leave a message for the lead or a teammate"),
    ("daily", "compact", "act", "have a member sum up its conversation"),
    ("daily", "pause", "act", "let the team rest: no new task, no new model call"),
    ("daily", "continue", "act", "let a paused team go on"),
    ("daily", "stop", "act", "stop a teammate, or the whole team"),
    ("look", "tasks", "look", "the board, or one task in full"),
    ("look", "mail", "look", "what a member has received"),
    ("look", "plan", "look", "the plans of a task and what was decided"),
    ("look", "logs", "look", "what a process wrote to its log"),
    ("look", "usage", "usage", "tokens, cache hits and money, by member and task"),
    ("look", "background", "background", "commands that run beside the conversations"),
    ("team", "init", "init", "make this repository's team directory, propose its settings"),
    ("team", "worker", "run", "join the team by hand, in this terminal"),
    ("team", "merge", "bring_back", "what waits for its merge; merge the work of one task by hand"),
    ("team", "policy", "policy", "check a policy, or ask what it says of a call"),
    ("team", "mcp", "mcp", "MCP servers: configured, connected on trial, accepted"),
    ("team", "skills", "skills", "what agents can load on demand, and what is wrong with it"),
    ("team", "roles", "roles", "what teammates can be, and what is wrong with it"),
    ("team", "memory", "memory", "what the team remembers, and what is wrong with it"),
    ("team", "cron", "cron", "what is said to the lead at its time"),
    ("team", "worktrees", "trees", "every worktree and why it stays; `remove` one"),
    ("team", "trust", "trust", "what this repository would start or allow, and your word on it"),
    ("repair", "doctor", "repair", "whether a team can work here, and what to do where not"),
    ("repair", "fsck", "repair", "check everything on disk, and mend it"),
    ("repair", "clean", "trees", "what could go, and what would be lost with it"),
    ("repair", "chaos", "repair", "a scripted team under kills, freezes, torn files and clock jumps"),
    ("repair", "demo", "demo", "a whole team on a small repository, no key needed"),
)


class VerbGroup(click.Group):
    """A group that knows its verbs without importing them."""

    def __init__(self, name: str | None = None, *, without: Collection[str] = (), **more: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(name, **more)
        self._verbs = [row for row in VERBS if row[1] not in without]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        with _until_nobody_reads():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        with _until_nobody_reads():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
        if near and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no verb {args[0]}; did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return [verb for _, verb, _, _ in self._verbs]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        for _, verb, module, _ in self._verbs:
            if verb == cmd_name:
                name = f"{verb}_" if keyword.iskeyword(verb) else verb
                command: click.Command = getattr(importlib.import_module(f"orchestrator.cli.{module}"), name)
                return command
        return None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in dict.fromkeys(group for group, _, _, _ in self._verbs):
            with formatter.section(group):
                formatter.write_dl([(verb, text) for of, verb, _, text in self._verbs if of == group])


@click.group(
    cls=VerbGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="leadhand", message="leadhand %(version)s")
@team_option
@click.pass_context
def cli(context: click.Context, team_directory: Path | None) -> int | None:
    """A lead and its hands: a team of coding agents that meet only in files.

    Without a verb: a session with the lead, in this terminal.
    """
    if is_colorless():
        context.color = False
    if context.invoked_subcommand is None:
        from coordination.concealment import conceal
        from orchestrator.interactive.commands import NOT_INSIDE
        from orchestrator.interactive.talk import start_session
        from orchestrator.lead.options import RunOptions

        conceal()
        own = context.command
        verbs = VerbGroup(without=NOT_INSIDE, params=own.params, context_settings=own.context_settings)
        return start_session(RunOptions(team_directory=team_directory), verbs)
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb; every error is one line that says what to do, and an exit code."""
    logging.getLogger().addHandler(logging.NullHandler())  # what a verb has to say it says itself
    _stand_in_for_closed_streams()
    try:
        status = cli.main(args=arguments, prog_name="leadhand", standalone_mode=False) or 0
    except click.ClickException as error:
        _complain(error.show)
        status = error.exit_code
    except TeamError as error:
        _complain(f"leadhand: {error}")
        status = getattr(error, "exit_code", USAGE)
    except (KeyboardInterrupt, click.Abort):
        _complain("leadhand: interrupted")
        status = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the border of the process: recorded, never hidden
        status = _say_unexpected(error)
    sys.exit(status)


def _complain(how: str | Callable[[], object]) -> None:
    """It is said on stderr, and left unsaid where there is no room; the exit code is told all the same."""
    try:
        echo(how, err=True) if isinstance(how, str) else how()
    except OSError:
        _drop(sys.stderr)


def _stand_in_for_closed_streams() -> None:
    """Whoever closed one wants none of it; a file of the team that got its number would."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        os.set_inheritable(number, True)
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - to the end


def _say_unexpected(error: Exception) -> int:
    """The exit code of a verb to which the system refused a path, or room for its output.

    Any other error is one of ours.
    """
    if isinstance(error, OSError) and (refusal := refusal_of(error)):
        _complain(f"leadhand: {refusal}")
        return USAGE
    if not isinstance(error, OSError) or error.errno not in NO_ROOM:
        _complain(f"leadhand: an error inside leadhand; please report it with {_keep_trace()}")
        return FAILED
    _drop(sys.stdout)
    _complain(f"leadhand: the output cannot be written ({cause_of(error)}); write it elsewhere")
    return FAILED


@contextmanager
def _until_nobody_reads() -> Iterator[None]:
    """`leadhand tasks | head` is done once `head` is; click would call that a failure."""
    try:
        yield
    except BrokenPipeError as error:
        _drop(sys.stdout)
        raise click.exceptions.Exit(0) from error


def _drop(stream: TextIO) -> None:
    """What is left of the output is not tried again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _keep_trace() -> Path:
    """The present traceback is in the file returned."""
    path = platformdirs.user_log_path("leadhand", ensure_exists=True) / "errors.log"
    with path.open("a", encoding="utf-8") as log:
        traceback.print_exc(file=log)
    return path


if __name__ == "__main__":
    main()
