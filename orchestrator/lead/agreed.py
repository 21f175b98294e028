"""What the person agreed to for one run alone: limits and prices, kept with the run for its next lead."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from harness.settings.settings import changed
from harness.settings.sources import SettingsFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.settings.settings import Settings

PRICES = "prices"
_LIMITS = "limits."


def named(flags: Mapping[str, object]) -> dict[str, Any]:
    """The limits that the command line names, by setting."""
    return {name: value for name, value in flags.items() if name.startswith(_LIMITS) and value is not None}


def held(settings: Settings, agreed: Mapping[str, Any], flags: Mapping[str, object]) -> Settings:
    """The settings, tightened by what was agreed and is not said anew by flags.

    The record of a run is no word of the person: its limits count where they are stricter, its prices
    where none is known, and what no setting takes is passed over.
    """
    for name, value in agreed.items():
        if flags.get(name) is None:
            with suppress(SettingsFault):
                settings = _with(settings, name, value)
    return settings


def _with(settings: Settings, name: str, value: object) -> Settings:
    if name == PRICES and isinstance(value, list):
        known = {_model(price) for price in settings.prices}
        new = [price for price in value if _model(price) not in known]
        return changed(settings, PRICES, [*settings.prices, *new])
    if not name.startswith(_LIMITS):
        return settings
    then = changed(settings, name, value)
    scope, _, what = name.removeprefix(_LIMITS).partition(".max_")
    before, after = (getattr(of.limits(scope), what) for of in (settings, then))
    return then if after is not None and (before is None or after < before) else settings


def _model(price: object) -> str:
    return str(price).partition(" ")[0]
