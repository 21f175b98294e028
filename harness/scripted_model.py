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
from harness.conversation import blocks_of, fault
from harness.model import ImproperEnd, ModelBusy, ModelRefused, ModelRequest, NoReply, Reply, UnknownModel
from harness.playbook import Fault, Playbook, Rule, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Blocks = list[dict[str, Any]]
CHARACTERS_PER_TOKEN = 4  # the usual rule of thumb
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


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a rule makes of a request."""

    content: Blocks
    stop_reason: str
    usage: Usage
    delay_seconds: float
    fault: Fault | None


class Script:
    """A playbook in use: it counts how often a rule has spoken in a conversation. Safe among threads."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self._spoken: Counter[tuple[str, int]] = Counter()
        self._one_at_a_time = threading.Lock()

    def answer(self, system: str, messages: list[dict[str, Any]]) -> Answer:
        """The answer of the first rule that fits. Raises NoRuleFits, UnfitMessages."""
        problem = fault(messages)
        if problem is not None:
            raise UnfitMessages(problem=problem)
        seen = what_is_seen(system, messages)
        for rule in self.playbook.rules:
            caught = rule.match(seen)
            if caught is not None and self._may_speak(rule, system.partition("\n")[0]):
                content = _content(rule, caught)
                return Answer(
                    content=content,
                    stop_reason="tool_use" if rule.calls else "end_turn",
                    usage=rule.text.usage or _estimate(system, messages, content),
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

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`; a request that no rule fits raises ModelRefused, as the server would."""
        models = self._script.playbook.models
        if request.model not in models:
            raise UnknownModel(model=request.model, address="the playbook", offered=", ".join(models))
        try:
            answer = self._script.answer(request.system, request.messages)
        except (NoRuleFits, UnfitMessages) as error:
            raise ModelRefused(status=400, cause=str(error)) from error
        await anyio.sleep(answer.delay_seconds)
        if answer.fault is not None:
            raise _failure(answer.fault)
        reply = Reply(
            content=answer.content,
            stop_reason=answer.stop_reason,
            usage=answer.usage + Usage(calls=1),
            model=request.model,
            request_id=f"req_{secrets.token_hex(12)}",
        )
        on_text(reply.text)
        return reply

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
        last_user = "\n".join(_texts(blocks)) or last_user
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


def _estimate(system: str, messages: list[dict[str, Any]], content: Blocks) -> Usage:
    """Usage as a real model with a warm cache would report it, roughly."""
    cached = len(system) + _size(messages[:-1])
    return Usage(
        input_tokens=1 + _size(messages[-1:]) // CHARACTERS_PER_TOKEN,
        output_tokens=1 + _size(content) // CHARACTERS_PER_TOKEN,
        cache_read_tokens=cached // CHARACTERS_PER_TOKEN,
    )


def _size(blocks: list[dict[str, Any]]) -> int:
    return len(msgspec.json.encode(blocks))


def _failure(fault: Fault) -> NoReply:
    match fault:
        case Fault.CUT | Fault.EARLY_END:
            return ImproperEnd(cause=f"playbook: {fault}")
        case Fault.OVERLOADED | Fault.ERROR_EVENT:
            return ModelBusy(status=529, cause=f"playbook: {fault}")
        case Fault.RATE_LIMITED:
            return ModelBusy(status=429, cause=f"playbook: {fault}", retry_after_seconds=0.0)
        case Fault.BROKEN:
            return ModelBusy(status=500, cause=f"playbook: {fault}")
