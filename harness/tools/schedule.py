"""The schedule as models and people deal with it: what may be wished, when it fires, how it reads."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypedDict, cast

from coordination.clock import iso
from coordination.schedule_rules import Entry, EntryState, Missed, Occurrence, Rank, due_time
from harness.cron_times import BadSchedule, fire_times, next_fire, point, zone
from harness.tool import Effect, Refusal, Tool, ToolContext, closed, objection

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.schedule import Schedule
    from harness.off_loop import OffLoop
    from harness.tool import Arguments

ENTRY_ID = {"type": "string", "pattern": "^cron_[0-9a-f]{8}$"}
WHEN = ("cron", "at", "in_minutes")
MINUTES_AHEAD = 527_040  # a year
ON_TIME = timedelta(seconds=90)  # what is looked at later than this after its time was missed
WINDOWS = (timedelta(hours=1), timedelta(days=1), timedelta(days=32), timedelta(days=367))


class Wish(TypedDict, total=False):
    """What somebody wants to have scheduled; exactly one of the first three."""

    cron: str | None
    at: str | None
    in_minutes: int | None
    time_zone: str | None
    recurring: bool
    durable: bool
    missed: str


def add_entry(
    schedule: Schedule, prompt: str, wish: Wish, *, rank: Rank, made_in: str
) -> tuple[Entry, datetime]:
    """The entry is in the schedule; its first time comes second. Raises BadSchedule, StateUnwritable."""
    name = str(zone(wish.get("time_zone")))
    at = _point_of(wish, name, schedule.wall_clock())
    cron = wish.get("cron") if at is None else None
    first = at or next_fire(cron or "", name, schedule.wall_clock())
    entry = schedule.add(
        prompt,
        rank,
        cron=cron,
        at=iso(at) if at else None,
        zone=name,
        recurring=at is None and wish.get("recurring", True),
        durable=wish.get("durable", True),
        missed=Missed(wish.get("missed", Missed.SKIP)),
        made_in=made_in,
    )
    return entry, first


def _point_of(wish: Wish, zone_name: str, now: datetime) -> datetime | None:
    minutes, text = wish.get("in_minutes"), wish.get("at")
    if minutes is not None:
        return now + timedelta(minutes=minutes)
    if text is None:
        return None
    at = point(text, zone_name)
    if at <= now:
        raise BadSchedule(text=text, why="that time is over")
    return at


def next_time(entry: Entry, after: datetime) -> datetime | None:
    """When an active entry fires next; None when it does not any more. Raises BadSchedule."""
    if entry.state is not EntryState.ACTIVE:
        return None
    if entry.at:
        at = point(entry.at, None)
        return at if at > after else None
    return next_fire(entry.cron or "", entry.zone, after)


def due_now(entry: Entry, last: datetime | None, now: datetime) -> datetime | None:
    """The time for which the entry has to fire now, given its last firing; earlier ones do not pile up.

    A one-shot fires however late. Raises BadSchedule.
    """
    made = point(entry.made_at, None)
    if not entry.recurring:
        first = point(entry.at, None) if entry.at else next_fire(entry.cron or "", entry.zone, made)
        return first if last is None and first <= now else None
    windows = (ON_TIME,) if entry.missed is Missed.SKIP else WINDOWS
    for window in windows:
        after = max(last or made, now - window)
        times = list(takewhile(lambda time: time <= now, fire_times(entry.cron or "", entry.zone, after)))
        if times:
            return times[-1]
    return None


def one_line(entry: Entry, after: datetime) -> str:
    """A row of a list."""
    what = f"cron {entry.cron!r}" if entry.cron else "once"
    marks = [] if entry.recurring or entry.at else ["once"]
    marks += [] if entry.durable else ["this term only"]
    marks += ["missed ones run once"] if entry.missed is Missed.RUN_ONCE and entry.recurring else []
    try:
        time = next_time(entry, after)
        then = f"next {shown(time, entry.zone)}" if time else str(entry.state)
    except BadSchedule as error:
        then = str(error)
    notes = ", ".join([then, *marks, f"by {entry.made_by.partition('~')[0]}"])
    return f"{entry.id} {what} ({notes}): {' '.join(entry.prompt.split())[:80]}"


def shown(time: datetime, zone_name: str) -> str:
    """The time as people in the zone read it."""
    return time.astimezone(zone(zone_name)).isoformat(timespec="seconds")


def said(entry: Entry, occurrence: Occurrence, now: datetime) -> str:
    """What the lead's model reads when the entry fires; only a request of the person stands unframed."""
    due = due_time(occurrence)
    late = now - due > ON_TIME
    if entry.rank is Rank.REQUEST:
        marks = f"{entry.id}, due {shown(due, entry.zone)}{', late' if late else ''}"
        return f"[Scheduled {marks}] {entry.prompt}"
    maker = f'made_by="{escape(entry.made_by)}" made_in="{escape(entry.made_in)}"'
    head = f'<scheduled id="{entry.id}" due="{shown(due, entry.zone)}" {maker}>'
    return f"{head}\n{escape(entry.prompt, quote=False)}\n</scheduled>"


def schedule_tools(
    schedule: Schedule, off_loop: OffLoop, origin: Callable[[], tuple[Rank, str]]
) -> list[Tool]:
    """Make, list and cancel; `origin` says what an entry of this moment ranks as, and why."""
    return [
        _schedule_cron(schedule, off_loop, origin),
        _list_crons(schedule, off_loop),
        _cancel_cron(schedule, off_loop),
    ]


def _schedule_cron(schedule: Schedule, off_loop: OffLoop, origin: Callable[[], tuple[Rank, str]]) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        rank, made_in = origin()
        prompt, wish = args["prompt"], cast("Wish", {key: args[key] for key in args if key != "prompt"})
        entry, first = await off_loop(add_entry, schedule, prompt, wish, rank=rank, made_in=made_in)
        return f"scheduled {entry.id}; it fires next at {shown(first, entry.zone)}"

    return Tool(
        name="schedule_cron",
        description=(
            "Have a text said to you at a time, or again and again: give exactly one of `cron`, `at` and "
            "`in_minutes`. It fires while a lead runs; a one-shot that was missed comes as soon as one does."
        ),
        input_schema=closed(_FIELDS, required=("prompt",)),
        run=run,
        effect=Effect.TEAM,
        semantic=_one_time,
    )


def _one_time(args: Arguments) -> Refusal | None:
    given = [name for name in WHEN if name in args]
    if len(given) != 1:
        return objection(
            "one_time", f"give exactly one of {', '.join(WHEN)}, not {' and '.join(given) or 'none'}"
        )
    if not args["prompt"].strip():
        return objection("blank_prompt", "the prompt is empty; say what is to be done then")
    return None


def _list_crons(schedule: Schedule, off_loop: OffLoop) -> Tool:
    def rows() -> str:
        now = schedule.wall_clock()
        found = [one_line(entry, now) for entry in schedule.active()]
        found += [f"{entry} cannot be read: {why}" for entry, why in schedule.problems.items()]
        return "\n".join(found) or "nothing is scheduled"

    async def run(_: dict[str, Any], __: ToolContext) -> str:
        return await off_loop(rows)

    return Tool(
        name="list_crons",
        description="Show what is scheduled, and when it fires next.",
        input_schema=closed({}),
        run=run,
        effect=Effect.TEAM,
    )


def _cancel_cron(schedule: Schedule, off_loop: OffLoop) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        entry = await off_loop(schedule.end, args["id"], EntryState.CANCELLED)
        return f"{entry.id} is cancelled"

    return Tool(
        name="cancel_cron",
        description="Take an entry out of the schedule, with what it has fired and you have not seen.",
        input_schema=closed({"id": ENTRY_ID}, required=("id",)),
        run=run,
        effect=Effect.TEAM,
    )


_FIELDS: dict[str, Any] = {
    "prompt": {"type": "string", "minLength": 1, "description": "what is said to you then"},
    "cron": {
        "type": "string",
        "description": "five fields: minute hour day month weekday, such as `30 9 * * 1-5`",
    },
    "at": {"type": "string", "description": "one point of time, such as 2026-11-30T14:05"},
    "in_minutes": {"type": "integer", "minimum": 1, "maximum": MINUTES_AHEAD},
    "time_zone": {"type": "string", "description": "such as Europe/Berlin; else that of this machine"},
    "recurring": {"type": "boolean", "description": "false: a `cron` fires only once"},
    "durable": {"type": "boolean", "description": "false: forgotten when this lead ends"},
    "missed": {"enum": [*Missed], "description": "times at which no lead ran: skip (default) or run_once"},
}
