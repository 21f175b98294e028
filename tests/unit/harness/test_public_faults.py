"""The client against a public fault server, which judges it: every wait, repetition and broken stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.models.anthropic_model import AnthropicModel
from harness.models.endpoint import Endpoint
from harness.models.model import CredentialsRefused, ModelBusy, NoReply, PromptTooLong, UnknownModel
from harness.models.recovery import RecoveringModel
from tests.support.model import asks

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmock.pytest_plugin import LLMock

pytestmark = pytest.mark.anyio
NAME = "any-model"


async def ask(llmock: LLMock, *, silence_seconds: float = 20.0) -> str:
    """The text that comes of one request through the whole client."""
    endpoint = Endpoint(address=llmock.base_url("anthropic"), api_key="k")
    model = RecoveringModel(AnthropicModel(endpoint, silence_seconds=silence_seconds))
    try:
        return (await model.reply(asks("hello", model=NAME), lambda _: None)).text
    finally:
        await model.close()


SKIPPED_BY_THE_SDK = "event without a name that is no JSON"  # as the protocol wants; nobody can see it
FAULTS: dict[str, Callable[[LLMock], object]] = {
    "429 with retry-after": lambda server: server.rate_limit(times=2, retry_after=0.6),
    "429 without": lambda server: server.fail(429),
    "529": lambda server: server.fail(529, times=2),
    "500": lambda server: server.fail(500),
    "503": lambda server: server.fail(503, times=2),
    "connection dropped in a stream": lambda server: server.disconnect(after_chunks=2),
    "stream that ends early": lambda server: server.truncate(after_chunks=2),
    SKIPPED_BY_THE_SDK: lambda server: server.corrupt(after_chunks=2),
    "half a call": lambda server: server.call_tool("bash", {"command": "rm"}).disconnect(after_chunks=3),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_passing_fault_is_waited_out_without_a_complaint(llmock: LLMock, fault: str) -> None:
    FAULTS[fault](llmock)
    assert await ask(llmock)
    llmock.assert_resilient(strict=fault != SKIPPED_BY_THE_SDK)


async def test_a_silent_stream_is_left_and_asked_for_again(llmock: LLMock) -> None:
    llmock.stall(after_chunks=1, seconds=2.0)
    assert await ask(llmock, silence_seconds=0.3)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("status", "expected"), [(401, CredentialsRefused), (403, CredentialsRefused), (404, UnknownModel)]
)
async def test_what_would_fail_again_is_asked_once(
    llmock: LLMock, status: int, expected: type[NoReply]
) -> None:
    llmock.fail(status, times=None)
    with pytest.raises(expected):
        await ask(llmock)
    llmock.assert_resilient(strict=True)


async def test_a_prompt_that_is_too_long_is_known_as_such(llmock: LLMock) -> None:
    llmock.context_overflow(times=None)
    with pytest.raises(PromptTooLong):
        await ask(llmock)
    llmock.assert_resilient(strict=True)


async def test_an_outage_ends_after_three_attempts(llmock: LLMock) -> None:
    llmock.outage()
    with pytest.raises(ModelBusy):
        await ask(llmock)
    llmock.assert_resilient()
