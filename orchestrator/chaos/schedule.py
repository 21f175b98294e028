"""Pure: which accidents happen when, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random

TTL_SECONDS = 6.0  # of the team's leases


class Kind(StrEnum):
    """What happens."""

    WORKER_KILLED = "worker_killed"
    LEAD_KILLED = "lead_killed"
    ALL_KILLED = "all_killed"
    WORKER_FROZEN = "worker_frozen"  # past its lease, then woken
    LEAD_FROZEN = "lead_frozen"  # likewise, and followed by another meanwhile
    LINE_TORN = "line_torn"  # somebody dies in the middle of a line
    RECORD_PLANTED = "record_planted"  # a truncated record takes a number
    DISK_FULL = "disk_full"
    CLOCK_JUMPED = "clock_jumped"  # that of one process, by an hour, and back


FREQUENCY = {
    Kind.WORKER_KILLED: 5,
    Kind.LEAD_KILLED: 3,
    Kind.ALL_KILLED: 1,
    Kind.WORKER_FROZEN: 2,
    Kind.LEAD_FROZEN: 1,
    Kind.LINE_TORN: 3,
    Kind.RECORD_PLANTED: 2,
    Kind.DISK_FULL: 1,
    Kind.CLOCK_JUMPED: 3,
}
GAP_SECONDS = (1.0, 5.0)  # between two accidents
LASTS_SECONDS = {Kind.DISK_FULL: (0.5, 4.0)}
FREEZE_SECONDS = (0.5 * TTL_SECONDS, 2.5 * TTL_SECONDS)  # not all of them outlast the lease


@dataclass(frozen=True, kw_only=True)
class Accident:
    """One accident."""

    at_seconds: float  # since the team began
    kind: Kind
    lasts_seconds: float  # for what passes again
    pick: float  # 0 to 1: which of those that it may hit
    seed: int  # of whatever else it draws


def schedule(seed: int, seconds: float) -> list[Accident]:
    """The accidents of so many seconds; the same for the same seed, and longer ones begin alike."""
    random, at = Random(seed), 0.0  # noqa: S311 - to be drawn again from the same seed
    drawn: list[Accident] = []
    while (at := at + random.uniform(*GAP_SECONDS)) < seconds:
        (kind,) = random.choices(list(FREQUENCY), list(FREQUENCY.values()))
        lasts = random.uniform(*LASTS_SECONDS.get(kind, FREEZE_SECONDS))
        drawn.append(
            Accident(
                at_seconds=at,
                kind=kind,
                lasts_seconds=lasts,
                pick=random.random(),
                seed=random.getrandbits(32),
            )
        )
    return drawn
