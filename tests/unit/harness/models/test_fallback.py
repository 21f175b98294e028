from __future__ import annotations

from harness.models.fallback import BACK_AFTER_SECONDS, ModelChoice
from harness.models.model import ImproperEnd, ModelBusy

OVERLOAD = ModelBusy(status=529, cause="x", overloaded=True)
LIMIT = ModelBusy(status=429, cause="x")


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_two_overloads_in_a_row_call_for_the_fallback() -> None:
    choice = ModelChoice("small", Time())
    assert [choice.failed(OVERLOAD), choice.of("big")] == [False, "big"]
    assert [choice.failed(OVERLOAD), choice.of("big")] == [True, "small"]


def test_other_failures_and_replies_between_break_the_row() -> None:
    choice = ModelChoice("small", Time())
    for between in (LIMIT, ImproperEnd(cause="cut")):
        assert not choice.failed(OVERLOAD)
        assert not choice.failed(between)
    assert not choice.failed(OVERLOAD)
    choice.answered()
    assert not choice.failed(OVERLOAD)
    assert choice.of("big") == "big"


def test_after_ten_minutes_the_first_model_is_asked_again() -> None:
    time = Time()
    choice = ModelChoice("small", time)
    assert [choice.failed(OVERLOAD) for _ in range(2)] == [False, True]
    time.now = BACK_AFTER_SECONDS - 1
    assert choice.of("big") == "small"
    time.now = BACK_AFTER_SECONDS
    assert choice.of("big") == "big"


def test_an_overloaded_fallback_is_not_left_for_another() -> None:
    choice = ModelChoice("small", Time())
    assert [choice.failed(OVERLOAD) for _ in range(6)] == [False, True, False, False, False, False]


def test_without_a_fallback_there_is_only_the_first() -> None:
    choice = ModelChoice(None, Time())
    assert not any(choice.failed(OVERLOAD) for _ in range(5))
    assert choice.of("big") == "big"
