"""The settings of model calls: what stands in for the model, what it costs, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass

from harness.models.limits import Limits
from harness.models.prices import FORM, parse_price
from harness.settings.entry import TEXT, TEXTS, Kind, number_above, setting, whole


def _prices(value: object) -> object:
    lines = TEXTS.read(value)
    for line in lines if isinstance(lines, tuple) else ():
        parse_price(line)
    return lines


PRICES = Kind(f"a list of lines such as {FORM}", _prices)


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The values in force; part of `harness.settings.settings.Settings`."""

    fallback_model_id: str | None = setting(
        "model.fallback",
        TEXT,
        "The model that is asked for ten minutes after two overloads in a row; without it none is.",
        default=None,
        variable="FALLBACK_MODEL_ID",
    )
    max_tokens: int = setting(
        "model.max_tokens", whole(1), "Length of one reply.", default=8000, unit="tokens"
    )
    max_rounds: int = setting(
        "turn.max_rounds", whole(1), "Model calls of one turn; then it ends.", default=200, unit="calls"
    )
    prices: tuple[str, ...] = setting(
        "prices",
        PRICES,
        "What models cost. With two numbers the cache costs a tenth (read) and five quarters (write) "
        "of the input. A model goes by the longest name that it begins with.",
        default=(),
    )
    task_max_turns: int | None = setting(
        "limits.task.max_turns",
        whole(1),
        "Model calls of one task, over all who work on it.",
        default=None,
        unit="calls",
    )
    task_max_tokens: int | None = setting(
        "limits.task.max_tokens",
        whole(1),
        "Tokens read, cached and written of one task, over all who work on it.",
        default=None,
        unit="tokens",
    )
    task_max_usd: float | None = setting(
        "limits.task.max_usd",
        number_above(0),
        "Money of one task, over all who work on it.",
        default=None,
        unit="USD",
    )
    task_max_minutes: float | None = setting(
        "limits.task.max_minutes",
        number_above(0),
        "Wall time of one task, over all who work on it.",
        default=None,
        unit="min",
    )
    member_max_turns: int | None = setting(
        "limits.member.max_turns", whole(1), "Model calls of one member.", default=None, unit="calls"
    )
    member_max_tokens: int | None = setting(
        "limits.member.max_tokens",
        whole(1),
        "Tokens read, cached and written of one member.",
        default=None,
        unit="tokens",
    )
    member_max_usd: float | None = setting(
        "limits.member.max_usd", number_above(0), "Money of one member.", default=None, unit="USD"
    )
    member_max_minutes: float | None = setting(
        "limits.member.max_minutes", number_above(0), "Wall time of one member.", default=None, unit="min"
    )
    team_max_turns: int | None = setting(
        "limits.team.max_turns", whole(1), "Model calls of the whole run.", default=None, unit="calls"
    )
    team_max_tokens: int | None = setting(
        "limits.team.max_tokens",
        whole(1),
        "Tokens read, cached and written of the whole run.",
        default=None,
        unit="tokens",
    )
    team_max_usd: float | None = setting(
        "limits.team.max_usd",
        number_above(0),
        "Money of the whole run. Without any limit a run on priced models stops at 5 USD.",
        default=None,
        unit="USD",
    )
    team_max_minutes: float | None = setting(
        "limits.team.max_minutes", number_above(0), "Wall time of the whole run.", default=None, unit="min"
    )

    def limits(self, scope: str) -> Limits:
        """What a task, a member or the team may use."""
        return Limits(
            **{name: getattr(self, f"{scope}_max_{name}") for name in ("turns", "tokens", "usd", "minutes")}
        )
