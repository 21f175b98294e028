"""What a model is asked and what it answers, whoever it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from coordination.errors import TeamError
from coordination.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING_USED = Usage()
WINDOW_FULL = "model_context_window_exceeded"  # why a reply stopped that filled the window


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One call, in the terms of the Messages API."""

    model: str
    system: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = field(default_factory=list)
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call that the model wants to be made."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply that came to its proper end."""

    content: list[dict[str, Any]]  # blocks as they were sent, fit for the next request
    stop_reason: str | None
    usage: Usage = NOTHING_USED
    model: str = ""  # the one that answered
    request_id: str | None = None

    @property
    def text(self) -> str:
        """What the model said, without thinking and calls."""
        said = [block.get("text") or "" for block in self.content if block.get("type") == "text"]
        return "\n".join(part for part in said if part.strip())

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The calls in the order of the reply; the blocks decide, whatever `stop_reason` says."""
        return [
            ToolUse(id=block["id"], name=block["name"], input=block["input"])
            for block in self.content
            if block.get("type") == "tool_use"
        ]

    @property
    def is_cut(self) -> bool:
        """True when the reply ran out of room, so that its last block may be half of what was meant."""
        return self.stop_reason in {"max_tokens", WINDOW_FULL}


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a model takes at most, as far as its server says so."""

    window_tokens: int | None = None  # request and reply
    reply_tokens: int | None = None


class Model(Protocol):
    """Anything that answers a request."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """The whole reply. Raises NoReply.

        `on_text` gets each piece of text as it comes, and an empty string as a sign of life at
        every other event of the stream.
        """
        ...

    async def count(self, request: ModelRequest) -> int | None:
        """How many tokens the request is; None where nobody counts. Raises nothing."""
        ...

    async def capacity(self, model: str) -> Capacity:
        """What the server says of the model, asked once. Comes back within a second. Raises nothing."""
        ...

    async def close(self) -> None:
        """Connections are given back; no further reply."""
        ...


class Around:
    """A model around another, to which it passes on what it does not do itself."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`."""
        return await self._model.reply(request, on_text)

    async def count(self, request: ModelRequest) -> int | None:
        """As `Model.count`."""
        return await self._model.count(request)

    async def capacity(self, model: str) -> Capacity:
        """As `Model.capacity`."""
        return await self._model.capacity(model)

    async def close(self) -> None:
        """The model behind is closed."""
        await self._model.close()


@dataclass(eq=False)
class NoReply(TeamError):
    """Root of all: a model call that brought no reply that may be acted on."""


@dataclass(eq=False)
class ModelUnreachable(NoReply):
    """No answer at the model's address."""

    address: str
    cause: str
    says = "no model answers at {address} ({cause}); check the network and ANTHROPIC_BASE_URL, then run again"


@dataclass(eq=False)
class ModelBusy(NoReply):
    """The server is overloaded, limits the rate, or failed on its own."""

    status: int
    cause: str
    retry_after_seconds: float | None = None  # what the server asked for
    overloaded: bool = False  # another model of the same server may be free
    says = "the model's server is busy or broken ({status}: {cause}); wait some minutes, then run again"


@dataclass(eq=False)
class ImproperEnd(NoReply):
    """The reply broke off, so nothing in it may be acted on."""

    cause: str
    says = "the model's reply broke off ({cause}); check the connection, then run again"


@dataclass(eq=False)
class CredentialsMissing(NoReply):
    """There is no key to call the model with."""

    says = "there is no key for the model; write a line ANTHROPIC_API_KEY=… into .env, or export it"


@dataclass(eq=False)
class CredentialsRefused(NoReply):
    """The server does not know the key, or the key may not do this."""

    address: str
    cause: str
    says = "{address} refused the key ({cause}); set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN to a valid one"


@dataclass(eq=False)
class SpendLimitReached(NoReply):
    """The account has no money left for this."""

    cause: str
    says = "the spend limit of the model's account is reached ({cause}); raise it, or wait for its renewal"


@dataclass(eq=False)
class UnknownModel(NoReply):
    """The server has no model of that name."""

    model: str
    address: str
    offered: str
    says = "{address} has no model {model!r}; set MODEL_ID to one that it offers: {offered}"


@dataclass(eq=False)
class PromptTooLong(NoReply):
    """The conversation is longer than the model reads."""

    cause: str
    says = "the conversation is too long for the model ({cause}); set context.window_tokens to what it reads"


@dataclass(eq=False)
class ModelRefused(NoReply):
    """The server rejected the request as it stands; the same again would be rejected again."""

    status: int
    cause: str
    says = "the model's server rejected the request ({status}: {cause}); this needs a change, not a retry"
