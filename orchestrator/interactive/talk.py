"""An interactive session from its first line to its end: one terminal, one lead, one conversation."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from coordination.errors import UsageError
from coordination.protocols import PERSON
from coordination.stores import open_stores
from orchestrator.inspection.status import at_work
from orchestrator.interactive.commands import Commands
from orchestrator.interactive.glance import glance
from orchestrator.interactive.lines import Lines, PipedLines, PlainLines, TerminalLines
from orchestrator.interactive.person import Person
from orchestrator.lead.opening import open_again, open_goal
from orchestrator.lead.outcome import ExitCode
from orchestrator.lead.preparing import prepared
from orchestrator.lead.session import Session
from orchestrator.terminal.console import Console
from orchestrator.terminal.plain import is_plain

if TYPE_CHECKING:
    import click

    from orchestrator.lead.options import RunOptions
    from orchestrator.lead.parts import LeadParts
    from orchestrator.terminal.console import Stream

HELLO = "leadhand at {root}\nSay what you want. /help lists commands, Ctrl-C cancels a turn, Ctrl-D leaves.\n"
GLANCE_SECONDS = 1.0  # between looks for the status line, at least
REST_SECONDS = 5.0  # between two where nothing happens
SIGNALLED = frozenset({ExitCode.INTERRUPTED, ExitCode.TERMINATED})


@dataclass(frozen=True, kw_only=True)
class Talk:
    """The terminal and who sits at it."""

    person: Person
    lines: Lines
    console: Console

    async def keep_glance(self, parts: LeadParts, stream: Stream) -> None:
        """The status line says what the team does, for ever."""
        while True:
            seen = parts.pulse.count
            facts = await parts.behind(at_work, parts.background)
            facts |= {"lead": "waits for you" if self.person.is_waiting else "works", "calls": stream.calls}
            self.lines.show_status(glance(facts, columns=shutil.get_terminal_size().columns))
            await anyio.sleep(GLANCE_SECONDS)
            await parts.pulse.wait(seen, REST_SECONDS)


def start_session(options: RunOptions, verbs: click.Group) -> int:
    """The person and the lead talk until the person leaves; returns the exit code.

    An open run is gone on with; else the first line is the goal of a new one.
    """
    team, git, settings, catalogs = prepared(options)
    talk = _talk(options, verbs)
    talk.console.say(HELLO.format(root=team.root))
    run = open_stores(team, PERSON).runs.open_run()
    if run and run.planned:
        raise UsageError(detail=f"a person wrote the tasks of {run.id}; `leadhand resume` goes on with it")
    if run:
        opened = open_again(team, git, settings, catalogs=catalogs)
        return _code(Session(opened, settings, options, talk).run_again())
    goal = anyio.run(_first_words, talk)
    if goal is None:
        return 0
    opened = open_goal(team, git, settings, goal=goal, catalogs=catalogs, workers=options.workers or 0)
    return _code(Session(opened, settings, options, talk).run_new([]))


def _talk(options: RunOptions, verbs: click.Group) -> Talk:
    console = Console(as_json=False)
    commands = Commands(verbs, options.team_directory)
    person = Person(console, commands)
    console.asker = person.ask
    return Talk(person=person, lines=_lines(commands, person), console=console)


def _lines(commands: Commands, person: Person) -> Lines:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return PipedLines()
    if is_plain():
        return PlainLines(interrupt=person.interrupt)
    return TerminalLines(commands.words, interrupt=person.interrupt, is_asked=lambda: person.is_asked)


async def _first_words(talk: Talk) -> str | None:
    """What the person wants; None when they leave before they say it."""
    with talk.lines.shown():
        return await talk.person.first_word(talk.lines)


def _code(code: int) -> int:
    """A person who leaves has got what they wanted; only a signal is told of."""
    return code if code in SIGNALLED else 0
