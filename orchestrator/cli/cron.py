"""The verb for what is said to the lead at its time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from orchestrator.cli.shared import json_option, looking_verb, persons_stores, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 3  # fire times that `next` shows, if not asked otherwise
zone_option = click.option("--tz", "time_zone", help="Time zone such as Europe/Berlin; else this machine's.")


@looking_verb
@json_option
@team_option
def cron(*, as_json: bool, team_directory: Path | None) -> None:
    """Show what is scheduled, or with one of the commands change it."""
    from harness.tools.schedule import one_line

    schedule = persons_stores(team_directory).schedule
    entries, now = schedule.all(), schedule.wall_clock()
    show(
        [entry.to_json() for entry in entries],
        as_json,
        lambda: "\n".join(one_line(entry, now) for entry in entries) or "nothing is scheduled",
    )
    for entry, why in schedule.problems.items():
        echo(f"{entry} cannot be read: {why}", err=True)


@cron.command()
@click.argument("words", nargs=-1, required=True, metavar="[CRON] PROMPT")
@click.option("--at", help="Once, at this time, such as 2026-11-30T14:05.")
@click.option("--in-minutes", type=click.IntRange(min=1), help="Once, in so many minutes.")
@click.option("--once", is_flag=True, help="Only the first time that CRON fires.")
@click.option("--missed", type=click.Choice(["skip", "run_once"]), default="skip", show_default=True)
@zone_option
@team_option
def add(  # noqa: PLR0913 - one parameter per option of the command
    *,
    words: tuple[str, ...],
    at: str | None,
    in_minutes: int | None,
    once: bool,
    missed: str,
    time_zone: str | None,
    team_directory: Path | None,
) -> None:
    """Have PROMPT said to the lead when CRON fires (five fields in quotes), or once with an option."""
    from coordination.errors import UsageError
    from coordination.schedule_rules import Rank
    from harness.tools.schedule import Wish, add_entry, shown

    if len(words) > 2:
        raise UsageError(detail="put the CRON expression into quotes, and the PROMPT too")
    *cron_words, prompt = words
    expression = cron_words[0] if cron_words else None
    if sum(given is not None for given in (expression, at, in_minutes)) != 1:
        raise UsageError(detail="say when: a CRON expression in quotes, --at, or --in-minutes, one of them")
    if not prompt.strip():
        raise UsageError(detail="the prompt is empty; say what is to be done then")
    wish = Wish(
        cron=expression, at=at, in_minutes=in_minutes, time_zone=time_zone, recurring=not once, missed=missed
    )
    schedule = persons_stores(team_directory).schedule
    entry, first = add_entry(schedule, prompt, wish, rank=Rank.REQUEST, made_in="the command line")
    echo(f"scheduled {entry.id}; it fires next at {shown(first, entry.zone)}, while a lead runs")


@cron.command("next")
@click.argument("expression")
@zone_option
@click.option("--from", "start", help="After this time; without it after now.")
@click.option("--count", type=click.IntRange(1, 1000), default=COUNT, show_default=True)
@json_option
def next_times(
    *, expression: str, time_zone: str | None, start: str | None, count: int, as_json: bool
) -> None:
    """Show when EXPRESSION fires next; needs no team."""
    from itertools import islice

    from coordination.clock import SystemClock
    from harness.cron_times import fire_times, point, zone

    after = point(start, time_zone) if start else SystemClock().now()
    times = islice(fire_times(expression, time_zone, after), count)
    shown = [time.astimezone(zone(time_zone)).isoformat() for time in times]
    echo(json.dumps(shown) if as_json else "\n".join(shown))


@cron.command()
@click.argument("entry", metavar="ID")
@team_option
def cancel(*, entry: str, team_directory: Path | None) -> None:
    """Take an entry out of the schedule."""
    from coordination.schedule_rules import EntryState

    schedule = persons_stores(team_directory).schedule
    echo(f"{schedule.end(entry, EntryState.CANCELLED).id} is cancelled")
