from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.protocols import TermOver
from harness.models.limits import LimitReached
from harness.models.model import (
    Capacity,
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
from harness.models.recovery import (
    ATTEMPTS,
    LONGEST_WAIT_SECONDS,
    GiveUp,
    RecoveringModel,
    Retry,
    Waiting,
    classify,
)
from harness.models.throttle import Throttle
from tests.support.model import FakeModel, asks, says

if TYPE_CHECKING:
    from coordination.team_root import Team

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


def test_waits_double_and_jitter_adds_a_quarter_at_most() -> None:  # T126
    busy = ModelBusy(status=529, cause="x")
    assert classify(busy, attempt=2) == Retry(after_seconds=1.0)
    assert classify(busy, attempt=2, jitter=1.0) == Retry(after_seconds=1.25)
    assert classify(busy, attempt=2, failures=50) == Retry(after_seconds=LONGEST_WAIT_SECONDS)


def test_what_the_server_asks_for_is_obeyed_within_reason() -> None:
    assert classify(ModelBusy(status=429, cause="", retry_after_seconds=7), attempt=1) == Retry(
        after_seconds=7
    )
    assert classify(ModelBusy(status=429, cause="", retry_after_seconds=9e9), attempt=1) == GiveUp()


@pytest.mark.anyio
async def test_two_failures_are_waited_out_and_reported() -> None:  # T127
    naps, waits = Naps(), list[Waiting]()
    model = FakeModel(PASSING[0], PASSING[3], says("here"))
    patient = RecoveringModel(model, on_wait=waits.append, sleep=naps, jitter=lambda: 0.0)
    assert (await patient.reply(asks("go"), lambda _: None)).text == "here"
    assert naps.seconds == [0.5, 1.0]
    assert [(wait.attempt, wait.error.reason) for wait in waits] == [(1, "model_busy"), (2, "improper_end")]


@pytest.mark.anyio
async def test_after_three_attempts_the_failure_itself_comes_out() -> None:  # T128
    model = FakeModel(*[ModelUnreachable(address="a", cause="x")] * ATTEMPTS)
    with pytest.raises(ModelUnreachable):
        await RecoveringModel(model, sleep=Naps()).reply(asks("go"), lambda _: None)
    assert len(model.requests) == ATTEMPTS


@pytest.mark.anyio
async def test_a_refused_key_is_asked_once() -> None:  # T127
    refused = CredentialsRefused(address="a", cause="x")
    model = FakeModel(refused)
    with pytest.raises(CredentialsRefused) as caught:
        await RecoveringModel(model, sleep=Naps()).reply(asks("go"), lambda _: None)
    assert (caught.value, len(model.requests)) == (refused, 1)


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
async def test_a_reply_out_of_room_is_handed_on_where_no_longer_one_comes() -> None:
    reached = LimitReached(scope="team", what="max_turns 1 (1 used)")
    model = FakeModel(says("ha", stop_reason="max_tokens"), reached)
    reply = await RecoveringModel(model).reply(asks("go"), lambda _: None)
    assert (reply.text, reply.usage.calls) == ("ha", 1)


@pytest.mark.anyio
async def test_twice_the_room_is_no_more_than_the_model_gives() -> None:
    model = FakeModel(says("ha", stop_reason="max_tokens"), says("half and half"))
    model.capacities["scripted"] = Capacity(reply_tokens=1500)
    assert (await RecoveringModel(model).reply(asks("go"), lambda _: None)).text == "half and half"
    assert [request.max_tokens for request in model.requests] == [1000, 1500]


@pytest.mark.anyio
async def test_a_fallback_that_gives_shorter_replies_is_asked_for_no_longer_one() -> None:
    model = FakeModel(OVERLOAD, OVERLOAD, says("here"))
    model.capacities["small"] = Capacity(reply_tokens=400)
    patient = RecoveringModel(model, fallback="small", sleep=Naps())
    await patient.reply(asks("go"), lambda _: None)
    assert [request.max_tokens for request in model.requests] == [1000, 1000, 400]


OVERLOAD = ModelBusy(status=529, cause="x", overloaded=True)


@pytest.mark.anyio
async def test_five_overloads_wait_longer_and_longer_and_go_over_to_the_fallback() -> None:  # S13, T128
    naps, changes = Naps(), list[str]()
    model = FakeModel(*[OVERLOAD] * 4, says("here"), says("there"))
    patient = RecoveringModel(
        model, fallback="small", on_model=changes.append, sleep=naps, jitter=lambda: 0.0, now=lambda: 1.0
    )
    assert (await patient.reply(asks("go"), lambda _: None)).text == "here"
    assert naps.seconds == [0.5, 1.0, 2.0, 4.0]
    await patient.reply(asks("go"), lambda _: None)
    assert [request.model for request in model.requests] == ["scripted"] * 2 + ["small"] * 4
    assert changes == ["small"]


@pytest.mark.anyio
async def test_the_fallback_has_three_attempts_of_its_own() -> None:  # S13, T128
    model = FakeModel(*[OVERLOAD] * 5)
    with pytest.raises(ModelBusy):
        await RecoveringModel(model, fallback="small", sleep=Naps(), now=lambda: 1.0).reply(
            asks("go"), lambda _: None
        )
    assert len(model.requests) == 2 + ATTEMPTS


@pytest.mark.anyio
async def test_the_way_back_to_the_first_model_is_told_too() -> None:
    changes, time = list[str](), iter([0.0] * 6 + [700.0] * 9)
    model = FakeModel(OVERLOAD, OVERLOAD, says("a"), says("b"), says("c"))
    patient = RecoveringModel(
        model, fallback="small", on_model=changes.append, sleep=Naps(), now=lambda: next(time)
    )
    for _ in range(3):
        await patient.reply(asks("go"), lambda _: None)
    assert changes == ["small", "scripted"]


@pytest.mark.anyio
async def test_members_back_off_together(team: Team) -> None:
    alice, bob = (Throttle(team.directory, layout.THROTTLE, who) for who in ("alice~1", "bob~1"))
    naps, signs = Naps(), list[str]()
    of_bob = RecoveringModel(
        FakeModel(says("a"), says("b"), says("c")), throttle=bob, sleep=naps, jitter=lambda: 1.0
    )
    await of_bob.reply(asks("go"), signs.append)
    limited = FakeModel(ModelBusy(status=429, cause="x", retry_after_seconds=8.0), says("here"))
    await RecoveringModel(limited, throttle=alice, sleep=Naps()).reply(asks("go"), lambda _: None)
    await of_bob.reply(asks("go"), signs.append)
    await of_bob.reply(asks("go"), signs.append)
    assert naps.seconds == [10.0]  # with jitter, so that not all come back at once
    assert signs == ["a", "", "b", "c"]


@pytest.mark.anyio
async def test_a_broken_connection_is_nobody_else_s_matter(team: Team) -> None:
    alice = Throttle(team.directory, layout.THROTTLE, "alice~1")
    model = FakeModel(ModelUnreachable(address="a", cause="x"), says("here"))
    await RecoveringModel(model, throttle=alice, sleep=Naps()).reply(asks("go"), lambda _: None)
    assert team.directory.names(layout.THROTTLE) == []


@pytest.mark.anyio
async def test_a_wait_is_a_sign_of_life() -> None:
    signs: list[str] = []
    await RecoveringModel(FakeModel(PASSING[0], says("here")), sleep=Naps()).reply(asks("go"), signs.append)
    assert signs == ["\n", "here"]  # and words that were cut off end their line


@pytest.mark.anyio
async def test_closing_closes_the_model_below() -> None:
    model = FakeModel()
    await RecoveringModel(model).close()
    assert model.closed


@pytest.mark.anyio
async def test_who_may_call_no_more_is_stopped_before_each_attempt_the_repeated_ones_too() -> None:
    model, asked = FakeModel(PASSING[0], says("here")), list[int]()

    def only_once() -> None:
        asked.append(len(model.requests))
        if len(asked) > 1:
            raise TermOver(term=1, present=2)

    with pytest.raises(TermOver):
        await RecoveringModel(model, sleep=Naps(), before_call=only_once).reply(asks("go"), lambda _: None)
    assert (asked, len(model.requests)) == ([0, 1], 1)
