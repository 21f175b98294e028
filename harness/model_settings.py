"""The settings of model calls: what stands in for the model, what it costs, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.limits import Limits
from harness.prices import FORM, parse_price
from harness.setting_entry import TEXT, TEXTS, Kind, entry, number_above, whole


def _prices(value: object) -> object:
    lines = TEXTS.read(value)
    for line in lines if isinstance(lines, tuple) else ():
        parse_price(line)
    return lines


PRICES = Kind(f"a list of lines such as {FORM}", _prices)


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The values in force; part of `harness.settings.Settings`."""

    fallback_model_id: str | None = field(
        default=None,
        metadata=entry(
            "model.fallback",
            TEXT,
            "The model that is asked for ten minutes after two overloads in a row; without it none is.",
            variable="FALLBACK_MODEL_ID",
        ),
    )
    max_tokens: int = field(
        default=8000, metadata=entry("model.max_tokens", whole(1), "Length of one reply.", unit="tokens")
    )
    max_rounds: int = field(
        default=200,
        metadata=entry("turn.max_rounds", whole(1), "Model calls of one turn; then it ends.", unit="calls"),
    )
    prices: tuple[str, ...] = field(
        default=(),
        metadata=entry(
            "prices",
            PRICES,
            "What models cost. With two numbers the cache costs a tenth (read) and five quarters (write) "
            "of the input. A model goes by the longest name that it begins with.",
        ),
    )
    task_max_turns: int | None = field(
        default=None,
        metadata=entry(
            "limits.task.max_turns",
            whole(1),
            "Model calls of one task, over all who work on it.",
            unit="calls",
        ),
    )
    task_max_tokens: int | None = field(
        default=None,
        metadata=entry(
            "limits.task.max_tokens",
            whole(1),
            "Tokens read, cached and written of one task, over all who work on it.",
            unit="tokens",
        ),
    )
    task_max_usd: float | None = field(
        default=None,
        metadata=entry(
            "limits.task.max_usd", number_above(0), "Money of one task, over all who work on it.", unit="USD"
        ),
    )
    task_max_minutes: float | None = field(
        default=None,
        metadata=entry(
            "limits.task.max_minutes",
            number_above(0),
            "Wall time of one task, over all who work on it.",
            unit="min",
        ),
    )
    member_max_turns: int | None = field(
        default=None,
        metadata=entry("limits.member.max_turns", whole(1), "Model calls of one member.", unit="calls"),
    )
    member_max_tokens: int | None = field(
        default=None,
        metadata=entry(
            "limits.member.max_tokens",
            whole(1),
            "Tokens read, cached and written of one member.",
            unit="tokens",
        ),
    )
    member_max_usd: float | None = field(
        default=None,
        metadata=entry("limits.member.max_usd", number_above(0), "Money of one member.", unit="USD"),
    )
    member_max_minutes: float | None = field(
        default=None,
        metadata=entry("limits.member.max_minutes", number_above(0), "Wall time of one member.", unit="min"),
    )
    team_max_turns: int | None = field(
        default=None,
        metadata=entry("limits.team.max_turns", whole(1), "Model calls of the whole run.", unit="calls"),
    )
    team_max_tokens: int | None = field(
        default=None,
        metadata=entry(
            "limits.team.max_tokens",
            whole(1),
            "Tokens read, cached and written of the whole run.",
            unit="tokens",
        ),
    )
    team_max_usd: float | None = field(
        default=None,
        metadata=entry(
            "limits.team.max_usd",
            number_above(0),
            "Money of the whole run. Without any limit a run on priced models stops at 5 USD.",
            unit="USD",
        ),
    )
    team_max_minutes: float | None = field(
        default=None,
        metadata=entry("limits.team.max_minutes", number_above(0), "Wall time of the whole run.", unit="min"),
    )

    def limits(self, scope: str) -> Limits:
        """What a task, a member or the team may use."""
        return Limits(
            **{name: getattr(self, f"{scope}_max_{name}") for name in ("turns", "tokens", "usd", "minutes")}
        )
