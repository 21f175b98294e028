"""Calls through the official SDK, and its failures in our terms; imported late, by its only user."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anthropic
import httpx2
import msgspec
from anthropic.lib.streaming import AsyncMessageStreamManager
from anthropic.types import Message, RawMessageStreamEvent
from anyio import move_on_after

from coordination.usage import Usage
from harness.context.cache_marks import marked_messages, marked_system
from harness.models.model import (
    Capacity,
    CredentialsRefused,
    ImproperEnd,
    ModelBusy,
    ModelRefused,
    ModelUnreachable,
    NoReply,
    PromptTooLong,
    Reply,
    SpendLimitReached,
    UnknownModel,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from anthropic.lib.streaming import AsyncMessageStream

    from harness.models.endpoint import Endpoint
    from harness.models.model import ModelRequest

MESSAGES = "/v1/messages"
FEWEST_TOKENS = 256  # that a model can be useful with; a smaller number means something else
CONNECT_SECONDS = 5.0
CALL_SECONDS = 600.0
MODELS = "/v1/models"
MODELS_LISTED = 100
CAPACITY_SECONDS = 1.0  # the first request waits for it
UNANSWERED = (anthropic.APIError, httpx2.TransportError, ValueError)  # a question that may go unanswered
WINDOW = ("max_input_tokens", "max_model_len")  # as the Messages API, and as vLLM calls it
BUSY = frozenset({408, 409, 429})  # and every 5xx
TOO_LONG = ("prompt is too long", "context length", "context size", "context window")  # local servers too
BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})


class Connection:
    """An open client; its retries are off, since ours can be seen and cancelled."""

    def __init__(self, endpoint: Endpoint, *, silence_seconds: float) -> None:
        self._address = endpoint.address
        self._client = anthropic.AsyncAnthropic(
            api_key=endpoint.api_key or None,
            auth_token=None if endpoint.api_key else endpoint.auth_token,
            base_url=endpoint.address,
            max_retries=0,
            timeout=anthropic.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS, read=silence_seconds),
        )
        self._capacities: dict[str, Capacity] = {}
        self._classes: dict[str, type] = {}  # of events: the SDK makes some anew once nobody holds them

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`, one attempt."""
        begun = self._client.post(
            MESSAGES,
            content=_encoded({**_arguments(request), "stream": True}),
            cast_to=Message,
            stream=True,
            stream_cls=anthropic.AsyncStream[RawMessageStreamEvent],
        )
        try:
            async with AsyncMessageStreamManager(begun) as stream:
                return await self._read(stream, on_text)
        except anthropic.NotFoundError as error:
            raise await self._unknown(request.model) from error
        except anthropic.APIError as error:
            raise failure(error, self._address) from error
        except httpx2.TransportError as error:  # how the SDK lets a broken stream through
            raise ImproperEnd(cause=_cause(error)) from error
        except ValueError as error:  # broken JSON, of an event or of a call's input
            raise ImproperEnd(cause=str(error)) from error

    async def count(self, request: ModelRequest) -> int | None:
        """As `Model.count`; a server that does not count, or not now, gives None."""
        arguments = _arguments(request)
        del arguments["max_tokens"]
        try:
            return (await self._client.messages.count_tokens(**arguments)).input_tokens
        except (*UNANSWERED, AttributeError):
            return None

    async def capacity(self, model: str) -> Capacity:
        """As `Model.capacity`; what a server does not say at once it is not asked again."""
        if model not in self._capacities:
            self._capacities[model] = Capacity()
            path = f"{MODELS}/{quote(model, safe='')}"
            with move_on_after(CAPACITY_SECONDS), suppress(*UNANSWERED):
                self._capacities[model] = capacity_of(await self._client.get(path, cast_to=object))
        return self._capacities[model]

    async def offered(self) -> list[str]:
        """Names of the models that the server lists. Raises NoReply."""
        try:
            page = await self._client.models.list(limit=MODELS_LISTED)
        except anthropic.APIError as error:
            raise failure(error, self._address) from error
        except ValueError as error:
            raise ImproperEnd(cause=str(error)) from error
        return [model.id for model in page.data]

    async def close(self) -> None:
        await self._client.close()

    async def _read(self, stream: AsyncMessageStream[None], on_text: Callable[[str], None]) -> Reply:
        ended, written = False, ""
        async for event in stream:
            self._classes[event.type] = type(event)
            on_text(event.text if event.type == "text" else "")
            ended = ended or event.type == "message_stop"
            if event.type == "input_json":
                written += event.partial_json
            elif event.type == "content_block_stop":
                _must_be_whole(written)
                written = ""
        if not ended:
            raise ImproperEnd(cause="the stream ended early")
        message = await stream.get_final_message()
        if message.stop_reason is None:
            raise ImproperEnd(cause="no stop reason")
        return Reply(
            content=[block.to_dict() for block in message.content],
            stop_reason=message.stop_reason,
            usage=Usage(
                calls=1,
                input_tokens=message.usage.input_tokens,
                output_tokens=message.usage.output_tokens,
                cache_read_tokens=message.usage.cache_read_input_tokens or 0,
                cache_write_tokens=message.usage.cache_creation_input_tokens or 0,
            ),
            model=message.model,
            request_id=stream.request_id,
        )

    async def _unknown(self, model: str) -> UnknownModel:
        try:
            offered = ", ".join(await self.offered()) or "nothing"
        except NoReply:
            offered = "(it does not say; is ANTHROPIC_BASE_URL right?)"
        return UnknownModel(model=model, address=self._address, offered=offered)


def failure(error: anthropic.APIError, address: str) -> NoReply:
    """The SDK's error in our terms."""
    if isinstance(error, anthropic.APIStatusError):
        return _refusal(error, address)
    if isinstance(error, anthropic.APIConnectionError):
        return ModelUnreachable(address=address, cause=_cause(error.__cause__ or error))
    return ImproperEnd(cause=str(error))


def _refusal(error: anthropic.APIStatusError, address: str) -> NoReply:
    status, cause = error.status_code, _first_line(error.api_message or error.message)
    if status in {401, 403}:
        return CredentialsRefused(address=address, cause=cause)
    if status == 402 or (error.error_code or "").endswith("spend_limit_reached"):
        return SpendLimitReached(cause=cause)
    if status == 413 or (status == 400 and any(words in cause.lower() for words in TOO_LONG)):
        return PromptTooLong(cause=cause)
    if status in BUSY or status >= 500 or error.type in BUSY_TYPES:
        overloaded = status == 529 or error.type == "overloaded_error"
        asked = _asked_to_wait(error)
        return ModelBusy(status=status, cause=cause, retry_after_seconds=asked, overloaded=overloaded)
    return ModelRefused(status=status, cause=cause)


def capacity_of(told: object) -> Capacity:
    """What the entry of a model in a server's list says of its size; nonsense counts as nothing said."""
    said = told if isinstance(told, dict) else {}
    sizes = {name: said.get(name) for name in (*WINDOW, "max_tokens")}
    known = {name: size for name, size in sizes.items() if type(size) is int and size >= FEWEST_TOKENS}
    window = next((known[name] for name in WINDOW if name in known), None)
    return Capacity(window_tokens=window, reply_tokens=known.get("max_tokens"))


def _must_be_whole(written: str) -> None:
    """Raises ImproperEnd for half an input of a call, which the SDK would complete and let pass."""
    if written:
        try:
            json.loads(written)
        except ValueError as error:
            raise ImproperEnd(cause=f"half a call: {error}") from error


def _arguments(request: ModelRequest) -> dict[str, Any]:
    """The request with the marks up to which a server may cache: tools and system, and all so far."""
    arguments: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": marked_messages(request.messages),
    }
    if request.system:
        arguments["system"] = marked_system(request.system)
    if request.tools:
        arguments["tools"] = request.tools
    return arguments


def _encoded(arguments: dict[str, Any]) -> bytes:
    """The body; encoding it here is what a long history costs, which the SDK would copy first."""
    try:
        return msgspec.json.encode(arguments)
    except UnicodeEncodeError:  # a lone surrogate, as in what a server says of its tools
        return json.dumps(arguments).encode()


def _asked_to_wait(error: anthropic.APIStatusError) -> float | None:
    """What `retry-after` says in seconds; a date or nonsense counts as nothing said."""
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _cause(error: BaseException) -> str:
    return _first_line(str(error)) or type(error).__name__


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
