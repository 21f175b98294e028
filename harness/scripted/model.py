"""A model that answers from a playbook: for demos, tests and trying things out without a key."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from coordination.errors import TeamError
from coordination.usage import Usage
from harness.context.cache_marks import marked_messages, marked_system
from harness.context.messages import blocks_of, fault
from harness.models.model import (
    Capacity,
    ImproperEnd,
    ModelBusy,
    ModelRefused,
    ModelRequest,
    NoReply,
    PromptTooLong,
    Reply,
    SpendLimitReached,
    UnknownModel,
)
from harness.scripted.cache import CHARACTERS_PER_TOKEN, PromptCache
from harness.scripted.playbook import Fault, Playbook, Rule, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Blocks = list[dict[str, Any]]
STATUS_OF_FAULT = {
    Fault.RATE_LIMITED: 429,
    Fault.SPEND_LIMIT: 429,
    Fault.TOO_LONG: 400,
    Fault.TOO_LARGE: 413,
    Fault.BROKEN: 500,
    Fault.OVERLOADED: 529,
}
WORDS_OF_HOST = ("<reminder>", "<time>")  # how they begin; no rule is about them
SHOWN_CHARACTERS = 600  # of each thing seen, when no rule fits


@dataclass(eq=False)
class NoRuleFits(TeamError):
    """The playbook has no answer to this request."""

    path: str
    seen: dict[str, str]

    def __str__(self) -> str:
        shown = "; ".join(f"{what}: {text[-SHOWN_CHARACTERS:]!r}" for what, text in self.seen.items())
        return f"no rule of playbook {self.path} fits; add one for this request: {shown}"


@dataclass(eq=False)
class UnfitMessages(TeamError):
    """The messages are such as a real server would reject."""

    problem: str
    says = "{problem}"


@dataclass(eq=False)
class TooLong(TeamError):
    """The prompt is longer than the playbook's window."""

    tokens: int
    window: int
    says = "prompt is too long: {tokens} tokens > {window} maximum"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a rule makes of a request."""

    content: Blocks
    stop_reason: str
    usage: Usage  # without a word of the rule only what is said, not what was read
    counts_input: bool
    delay_seconds: float
    fault: Fault | None
    retry_after_seconds: float | None = None


class Script:
    """A playbook in use: it counts how often a rule has spoken in a conversation. Safe among threads."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self._spoken: Counter[tuple[str, int]] = Counter()
        self._one_at_a_time = threading.Lock()

    def too_wordy(self, max_tokens: int) -> str:
        """Why so long a reply may not be asked for; empty when it may."""
        most = self.playbook.capacity.reply_tokens or max_tokens
        return f"max_tokens: {max_tokens} > {most}, the most that a reply has" if max_tokens > most else ""

    def answer(self, system: str, messages: list[dict[str, Any]]) -> Answer:
        """The answer of the first rule that fits. Raises NoRuleFits, UnfitMessages, TooLong."""
        problem = fault(messages)
        if problem is not None:
            raise UnfitMessages(problem=problem)
        tokens, window = estimate(system, messages), self.playbook.capacity.window_tokens
        if window is not None and tokens > window:
            raise TooLong(tokens=tokens, window=window)
        seen = what_is_seen(system, messages)
        for rule in self.playbook.rules:
            caught = rule.match(seen)
            if caught is not None and self._may_speak(rule, system.partition("\n")[0]):
                content = _content(rule, caught)
                return Answer(
                    content=content,
                    stop_reason=rule.text.stop_reason or ("tool_use" if rule.calls else "end_turn"),
                    usage=rule.text.usage or _output(content),
                    counts_input=rule.text.usage is None,
                    retry_after_seconds=rule.text.retry_after_seconds,
                    delay_seconds=rule.text.delay_seconds,
                    fault=rule.text.fault,
                )
        raise NoRuleFits(path=self.playbook.path, seen={**seen, "system": system.partition("\n")[0]})

    def _may_speak(self, rule: Rule, identity: str) -> bool:
        if rule.text.times is None:
            return True
        with self._one_at_a_time:
            if self._spoken[identity, rule.number] >= rule.text.times:
                return False
            self._spoken[identity, rule.number] += 1
            return True


class ScriptedModel:
    """A Model in this process, without a network between."""

    def __init__(self, playbook: Playbook) -> None:
        self._script = Script(playbook)
        self._cache = PromptCache()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`; a request that no rule fits raises ModelRefused, as the server would."""
        models = self._script.playbook.models
        if request.model not in models:
            raise UnknownModel(model=request.model, address="the playbook", offered=", ".join(models))
        if why := self._script.too_wordy(request.max_tokens):
            raise ModelRefused(status=400, cause=why)
        try:
            answer = self._script.answer(request.system, request.messages)
        except (NoRuleFits, UnfitMessages) as error:
            raise ModelRefused(status=400, cause=str(error)) from error
        except TooLong as error:
            raise PromptTooLong(cause=str(error)) from error
        await anyio.sleep(answer.delay_seconds)
        if answer.fault is not None:
            raise _failure(answer.fault, answer.retry_after_seconds)
        marked = marked_messages(request.messages)
        sent = {"tools": request.tools, "system": marked_system(request.system), "messages": marked}
        read = self._cache.usage(sent) if answer.counts_input else Usage()
        reply = Reply(
            content=answer.content,
            stop_reason=answer.stop_reason,
            usage=answer.usage + read + Usage(calls=1),
            model=request.model,
            request_id=f"req_{secrets.token_hex(12)}",
        )
        on_text(reply.text)
        return reply

    async def count(self, request: ModelRequest) -> int | None:
        """As the playbook's server would count."""
        return estimate(request.system, request.messages)

    async def capacity(self, model: str) -> Capacity:
        """As the playbook says, for each of its models."""
        playbook = self._script.playbook
        known = model in playbook.models
        return playbook.capacity if known else Capacity()

    async def close(self) -> None:
        """Nothing is held."""


def what_is_seen(system: str, messages: list[dict[str, Any]]) -> dict[str, str]:
    """The request as the texts that rules look at."""
    last_results: list[str] = []
    all_results: list[str] = []
    last_user = ""
    tools: list[str] = []
    for message in messages:
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            tools += [block["name"] for block in blocks if block.get("type") == "tool_use"]
            continue
        last_results = [_text_of(block) for block in blocks if block.get("type") == "tool_result"]
        all_results += last_results
        said = (text for text in _texts(blocks) if not text.startswith(WORDS_OF_HOST))
        last_user = "\n".join(said) or last_user
    return {
        "system": system,
        "last_user": last_user,
        "last_result": "\n".join(last_results),
        "results": "\n".join(all_results),
        "tools_called": " ".join(tools),
    }


def _texts(blocks: Blocks) -> Iterator[str]:
    return (block.get("text") or "" for block in blocks if block.get("type") == "text")


def _text_of(result: dict[str, Any]) -> str:
    content = result.get("content") or ""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _content(rule: Rule, caught: dict[str, str]) -> Blocks:
    said: Blocks = [{"type": "text", "text": filled(rule.text.say, caught)}] if rule.text.say else []
    calls: Blocks = [
        # random, since the ids of messages are made from it, over all conversations of a name
        {
            "type": "tool_use",
            "id": f"toolu_{secrets.token_hex(12)}",
            "name": tool,
            "input": filled(arguments, caught),
        }
        for tool, arguments in rule.calls
    ]
    return said + calls


def _output(content: Blocks) -> Usage:
    return Usage(output_tokens=1 + _size(content) // CHARACTERS_PER_TOKEN)


def estimate(system: str, messages: list[dict[str, Any]]) -> int:
    """Tokens of a request, roughly."""
    return (len(system) + _size(messages)) // CHARACTERS_PER_TOKEN


def _size(blocks: list[dict[str, Any]]) -> int:
    return len(msgspec.json.encode(blocks))


def _failure(fault: Fault, retry_after_seconds: float | None) -> NoReply:
    cause = f"playbook: {fault}"
    match fault:
        case Fault.CUT | Fault.EARLY_END | Fault.HALF_CALL | Fault.WEB_PAGE:
            return ImproperEnd(cause=cause)
        case Fault.TOO_LONG | Fault.TOO_LARGE:
            return PromptTooLong(cause=cause)
        case Fault.SPEND_LIMIT:
            return SpendLimitReached(cause=cause)
        case _:
            status = STATUS_OF_FAULT.get(fault, 200)  # an overload that is told inside a stream
            return ModelBusy(
                status=status,
                cause=cause,
                retry_after_seconds=retry_after_seconds,
                overloaded=status in {200, 529},
            )
