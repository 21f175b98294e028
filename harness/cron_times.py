"""When a schedule fires: five-field cron expressions, points of time, time zones and their clock changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import tzlocal
from cronsim import CronSim, CronSimError

from coordination.errors import TeamError

if TYPE_CHECKING:
    from collections.abc import Iterator

FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")


@dataclass(eq=False)
class BadSchedule(TeamError):
    """The text names no time that comes."""

    text: str
    why: str
    says = "{text!r} is no schedule: {why}"


def zone(name: str | None) -> ZoneInfo:
    """The time zone of this name, or of this machine. Raises BadSchedule."""
    try:
        return ZoneInfo(name or tzlocal.get_localzone_name() or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        why = "no time zone has that name; use one such as Europe/Berlin"
        raise BadSchedule(text=name or "", why=why) from error


def fire_times(expression: str, zone_name: str | None, after: datetime) -> Iterator[datetime]:
    """The times strictly after `after` at which the expression fires, in its zone. Raises BadSchedule.

    The rules are those of Debian's cron: where both days are restricted either may match, unless one of
    them begins with an asterisk, such as `*/2`; then both must. A job at a fixed hour that a clock change
    skips fires right after the gap, one at an hour that comes twice fires once; with `*` in minute or
    hour it keeps its pace.
    """
    fields = expression.split()
    if len(fields) != len(FIELDS):
        why = f"five fields are needed ({', '.join(FIELDS)}), not {len(fields)}"
        raise BadSchedule(text=expression, why=why)
    try:
        return CronSim(" ".join(fields), after.astimezone(zone(zone_name)))
    except CronSimError as error:
        why = str(error).lower().replace("bad ", "there is no such ").replace("-", " ")
        raise BadSchedule(text=expression, why=why) from error


def next_fire(expression: str, zone_name: str | None, after: datetime) -> datetime:
    """The first of `fire_times`. Raises BadSchedule, also when there is none."""
    for time in fire_times(expression, zone_name, after):
        return time
    raise BadSchedule(text=expression, why="no such date comes")


def point(text: str, zone_name: str | None) -> datetime:
    """The point of time as UTC; without an offset of its own it is in the zone. Raises BadSchedule.

    An hour that a clock change skips is the one after it.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadSchedule(text=text, why="a time looks like 2026-11-30T14:05") from error
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone(zone_name))
    return time.astimezone(UTC)
