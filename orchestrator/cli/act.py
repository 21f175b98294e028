"""The verbs that act on a team from outside its lead: send, compact, stop, pause, continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from coordination.errors import TeamError, UsageError
from coordination.protocols import LEAD
from coordination.records import MemberState
from orchestrator.cli.shared import persons_stores, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

STOP_SECONDS = 60.0  # how long `stop` waits for the lead, whose team gets its own patience first


@click.command()
@click.argument("name")
@click.argument("text")
@click.option("--interrupt", is_flag=True, help="Cancel the tool it runs now, so that it reads this at once.")
@team_option
def send(*, name: str, text: str, interrupt: bool, team_directory: Path | None) -> None:
    """Leave a message for the lead or a teammate; it arrives before its next model call.

    `leadhand mail --sent` shows what became of it.
    """
    from coordination.orders import ask_to_interrupt

    stores = persons_stores(team_directory)
    if not text.strip():
        raise UsageError(detail="the message is empty; say something")
    is_read_later = name == LEAD and not stores.leadership.led()
    message = stores.outbox.send(name, text)
    try:
        done = (
            ", whose running tool is interrupted" if interrupt and ask_to_interrupt(stores, message) else ""
        )
    except TeamError as error:
        raise UsageError(detail=f"written to {name} ({message.id}), without an interrupt: {error}") from error
    later = "; nobody leads now: the next `leadhand run` or `resume` reads it" if is_read_later else ""
    echo(f"written to {message.to}{done} ({message.id}){later}")


@click.command()
@click.argument("name", default=LEAD)
@click.option("--focus", default="", help="What the summary must keep above all.")
@team_option
def compact(*, name: str, focus: str, team_directory: Path | None) -> None:
    """Have NAME (without it the lead) sum up its conversation, before its next model call.

    The request, task and team stay word by word; the whole text of what goes is kept in a file.
    """
    from coordination.orders import ask_to_compact

    stores = persons_stores(team_directory)
    run = stores.runs.open_run()
    if name == LEAD and run and run.planned:
        raise UsageError(detail=f"no model leads {run.id}; name a teammate")
    if not ask_to_compact(stores, name, focus):
        living = [each.name for each in stores.roster.all() if each.state is MemberState.ALIVE]
        runs = f"running teammates are {', '.join(living)}" if living else "no teammate runs"
        raise UsageError(detail=f"{name} is not running; {runs}")
    echo(f"{name} sums up its conversation before its next model call")


@click.command()
@click.argument("name", required=False)
@team_option
def stop(*, name: str | None, team_directory: Path | None) -> None:
    """Stop one teammate, or without NAME the lead and with it the whole team."""
    stores = persons_stores(team_directory)
    from orchestrator.stopping import MEMBER_SECONDS, stop_member, stop_team

    if name is None:
        echo(stop_team(stores, patience_seconds=STOP_SECONDS))
    else:
        echo(stop_member(stores, stores.roster.check_newest(name), patience_seconds=MEMBER_SECONDS))


@click.command()
@team_option
def pause(*, team_directory: Path | None) -> None:
    """Let the whole team rest: what runs is finished, then nobody calls a model or takes a task."""
    stores = persons_stores(team_directory)
    run = stores.runs.open_run()
    done = stores.pauses.say(paused=True)
    stores.events.record("paused")
    rests = "the team rests; `leadhand continue` lets it go on" if done else "the team rests already"
    echo(rests if run else f"{rests} (no run is open: the next one begins at rest)")


@click.command("continue")
@team_option
def continue_(*, team_directory: Path | None) -> None:
    """Let a paused team go on where it stopped."""
    stores = persons_stores(team_directory)
    done = stores.pauses.say(paused=False)
    stores.events.record("continued")
    echo("the team goes on" if done else "the team was not paused")
