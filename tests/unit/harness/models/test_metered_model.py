"""What the model used is added up, and only for replies that came."""

from __future__ import annotations

import pytest

from coordination.usage import Usage
from harness.models.metered_model import MeteredModel
from harness.models.model import ModelUnreachable
from tests.support.model import ONE_CALL, FakeModel, asks, says

pytestmark = pytest.mark.anyio


async def test_every_reply_is_passed_on_and_counted() -> None:
    heard: list[str] = []
    meter = MeteredModel(FakeModel(says("one"), says("two")))
    replies = [await meter.reply(asks("go"), heard.append) for _ in range(2)]
    assert [reply.text for reply in replies] == heard == ["one", "two"]
    assert meter.total == ONE_CALL + ONE_CALL


async def test_a_call_without_a_reply_costs_nothing() -> None:
    meter = MeteredModel(FakeModel(ModelUnreachable(address="nowhere", cause="refused")))
    with pytest.raises(ModelUnreachable):
        await meter.reply(asks("go"), lambda _: None)
    assert meter.total == Usage()


async def test_the_count_can_begin_anew() -> None:
    meter = MeteredModel(FakeModel(says("one"), says("two")))
    await meter.reply(asks("go"), lambda _: None)
    meter.total = Usage()
    await meter.reply(asks("go"), lambda _: None)
    assert meter.total == ONE_CALL


async def test_closing_closes_the_model_behind() -> None:
    model = FakeModel()
    await MeteredModel(model).close()
    assert model.closed
