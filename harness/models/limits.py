"""Hard limits: what a task, a member or the team may use, and when that is reached; pure."""

from __future__ import annotations

from dataclasses import dataclass

from harness.models.model import NoReply


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one scope may use; None means no limit."""

    turns: int | None = None  # model calls
    tokens: int | None = None  # all of them: read, cached, written
    usd: float | None = None
    minutes: float | None = None

    @property
    def are_none(self) -> bool:
        return self == Limits()


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What one scope has used."""

    turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    minutes: float = 0.0


def reached(spent: Spent, limits: Limits) -> str | None:
    """The first limit that is reached, as its setting and what was used; None while none is."""
    for name in ("turns", "tokens", "usd", "minutes"):
        limit, used = getattr(limits, name), getattr(spent, name)
        if limit is not None and used >= limit:
            return f"max_{name} {limit:g} ({used:g} used)"
    return None


def shown(spent: Spent, limits: Limits) -> str:
    """What is used of each limit that is set; empty where none is."""
    parts = [
        f"{round(getattr(spent, name), 2):,} of {limit:,} {name}"
        for name in ("turns", "tokens", "usd", "minutes")
        if (limit := getattr(limits, name)) is not None
    ]
    return ", ".join(parts)


@dataclass(eq=False)
class LimitReached(NoReply):
    """Nothing more may be asked of the model."""

    scope: str  # task, member, team
    what: str
    says = (
        "a limit is reached: limits.{scope}.{what}; raise it, then `leadhand resume` goes on "
        "(work and transcripts are kept)"
    )
