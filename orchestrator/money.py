"""Limits in money that can be kept: prices must be known, and a priced run never goes on without end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from harness.models.prices import PriceTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.models.prices import Price
    from harness.settings.settings import Settings

WITHOUT_LIMIT_USD = 5.0  # DESIGN 14
SCOPES = ("task", "member", "team")


@dataclass(eq=False)
class PriceUnknown(TeamError):
    """A limit in money was set for a model whose price nobody wrote down."""

    model: str
    says = (
        "a limit in USD needs the price of {model}; add it to `prices` in leadhand.yaml, "
        'as in\nprices: ["{model} INPUT OUTPUT"]   (USD per million tokens)'
    )


def priced(settings: Settings, models: Iterable[str]) -> dict[str, Price | None]:
    """What each of the models costs; None where nobody wrote it down."""
    table = PriceTable(settings.prices)
    return {model: table.price(model) for model in models if model}


def with_limits(settings: Settings, further: Iterable[str] = ()) -> Settings:
    """The settings with a limit of 5 USD where nobody set one and prices are known.

    `further` are models that members may have beside those of the settings. Raises PriceUnknown.
    """
    table = PriceTable(settings.prices)
    asked = (settings.model_id, settings.worker_model_id, settings.fallback_model_id, *further)
    unpriced = [model for model in asked if model and table.price(model) is None]
    limits = [settings.limits(scope) for scope in SCOPES]
    if unpriced and any(limit.usd is not None for limit in limits):
        raise PriceUnknown(model=unpriced[0])
    if unpriced or not all(limit.are_none for limit in limits):
        return settings
    return replace(settings, team_max_usd=WITHOUT_LIMIT_USD)
