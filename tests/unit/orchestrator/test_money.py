from __future__ import annotations

import pytest

from harness.settings.settings import Settings
from orchestrator.money import WITHOUT_LIMIT_USD, PriceUnknown, with_limits


def test_a_priced_run_without_any_limit_stops_at_five_dollars() -> None:
    settings = with_limits(Settings(model_id="big", prices=("big 3 15",)))
    assert settings.limits("team").usd == WITHOUT_LIMIT_USD == 5


def test_a_limit_of_the_person_stands_alone() -> None:
    settings = Settings(model_id="big", prices=("big 3 15",), member_max_turns=9)
    assert with_limits(settings) == settings


def test_an_unknown_price_means_tokens_only() -> None:
    settings = Settings(model_id="other", prices=("big 3 15",))
    assert with_limits(settings) == settings


@pytest.mark.parametrize("scope", ["task", "member", "team"])
def test_a_limit_in_money_needs_prices_and_says_which_line_to_add(scope: str) -> None:
    settings = Settings(
        model_id="big", fallback_model_id="tiny", prices=("big 3 15",), **{f"{scope}_max_usd": 1}
    )
    with pytest.raises(PriceUnknown) as caught:
        with_limits(settings)
    assert 'prices: ["tiny INPUT OUTPUT"]' in str(caught.value)
