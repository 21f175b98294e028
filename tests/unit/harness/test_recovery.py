from __future__ import annotations

import pytest

from coordination.protocols import TermOver
from harness.model import (
    CredentialsMissing,
    CredentialsRefused,
    ImproperEnd,
    ModelBusy,
    ModelRefused,
    ModelUnreachable,
    NoReply,
    PromptTooLong,
    SpendLimitReached,
    UnknownModel,
)
from harness.recovery import ATTEMPTS, GiveUp, RecoveringModel, Retry, Waiting, classify
from tests.support.model import FakeModel, asks, says

PASSING: list[NoReply] = [
    ModelBusy(status=429, cause="x"),
    ModelBusy(status=529, cause="x"),
    ModelUnreachable(address="a", cause="x"),
    ImproperEnd(cause="x"),
]
FINAL: list[NoReply] = [
    CredentialsMissing(),
    CredentialsRefused(address="a", cause="x"),
    SpendLimitReached(cause="x"),
    UnknownModel(model="m", address="a", offered="x"),
    PromptTooLong(cause="x"),
    ModelRefused(status=400, cause="x"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Naps:
    """A sleep that ends at once and keeps how long it would have lasted."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.mark.parametrize("error", PASSING, ids=lambda error: error.reason)
def test_a_passing_failure_is_tried_again(error: NoReply) -> None:
    assert classify(error, attempt=1) == Retry(after_seconds=0.5)


@pytest.mark.parametrize("error", PASSING, ids=lambda error: error.reason)
def test_the_last_attempt_gives_up(error: NoReply) -> None:
    assert classify(error, attempt=ATTEMPTS) == GiveUp()


@pytest.mark.parametrize("error", FINAL, ids=lambda error: error.reason)
def test_a_failure_that_would_come_again_gives_up_at_once(error: NoReply) -> None:
    assert classify(error, attempt=1) == GiveUp()


def test_waits_double_and_jitter_adds_a_quarter_at_most() -> None:
    busy = ModelBusy(status=529, cause="x")
    assert classify(busy, attempt=2) == Retry(after_seconds=1.0)
    assert classify(busy, attempt=2, jitter=1.0) == Retry(after_seconds=1.25)


def test_what_the_server_asks_for_is_obeyed_within_reason() -> None:
    assert classify(ModelBusy(status=429, cause="", retry_after_seconds=7), attempt=1) == Retry(
        after_seconds=7
    )
    assert classify(ModelBusy(status=429, cause="", retry_after_seconds=9e9), attempt=1) == GiveUp()


@pytest.mark.anyio
async def test_two_failures_are_waited_out_and_reported() -> None:
    naps, waits = Naps(), list[Waiting]()
    model = FakeModel(PASSING[1], PASSING[3], says("here"))
    patient = RecoveringModel(model, on_wait=waits.append, sleep=naps, jitter=lambda: 0.0)
    assert (await patient.reply(asks("go"), lambda _: None)).text == "here"
    assert naps.seconds == [0.5, 1.0]
    assert [(wait.attempt, wait.error.reason) for wait in waits] == [(1, "model_busy"), (2, "improper_end")]


@pytest.mark.anyio
async def test_after_three_attempts_the_failure_itself_comes_out() -> None:
    model = FakeModel(*[ModelUnreachable(address="a", cause="x")] * ATTEMPTS)
    with pytest.raises(ModelUnreachable):
        await RecoveringModel(model, sleep=Naps()).reply(asks("go"), lambda _: None)
    assert len(model.requests) == ATTEMPTS


@pytest.mark.anyio
async def test_a_refused_key_is_asked_once() -> None:
    model = FakeModel(CredentialsRefused(address="a", cause="x"))
    with pytest.raises(CredentialsRefused):
        await RecoveringModel(model, sleep=Naps()).reply(asks("go"), lambda _: None)
    assert len(model.requests) == 1


@pytest.mark.anyio
async def test_a_reply_out_of_room_is_asked_once_more_with_twice_the_room() -> None:
    model = FakeModel(says("ha", stop_reason="max_tokens"), says("half and half"))
    reply = await RecoveringModel(model).reply(asks("go"), lambda _: None)
    assert [request.max_tokens for request in model.requests] == [1000, 2000]
    assert (reply.text, reply.usage.calls) == ("half and half", 2)


@pytest.mark.anyio
async def test_a_second_reply_out_of_room_is_handed_on_as_it_is() -> None:
    model = FakeModel(*[says("ha", stop_reason="max_tokens")] * 2)
    assert (await RecoveringModel(model).reply(asks("go"), lambda _: None)).is_cut


@pytest.mark.anyio
async def test_a_wait_is_a_sign_of_life() -> None:
    signs: list[str] = []
    await RecoveringModel(FakeModel(PASSING[0], says("here")), sleep=Naps()).reply(asks("go"), signs.append)
    assert signs == ["", "here"]


@pytest.mark.anyio
async def test_closing_closes_the_model_below() -> None:
    model = FakeModel()
    await RecoveringModel(model).close()
    assert model.closed


@pytest.mark.anyio
async def test_who_may_call_no_more_is_stopped_before_each_attempt_the_repeated_ones_too() -> None:
    model, asked = FakeModel(PASSING[0], says("here")), list[int]()

    async def only_once() -> None:
        asked.append(len(model.requests))
        if len(asked) > 1:
            raise TermOver(term=1, present=2)

    with pytest.raises(TermOver):
        await RecoveringModel(model, sleep=Naps(), before_call=only_once).reply(asks("go"), lambda _: None)
    assert (asked, len(model.requests)) == ([0, 1], 1)
