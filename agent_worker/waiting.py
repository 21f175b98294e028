"""Pure: what a conversation waits for, read off what was said in it; and what in it waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_worker.assignment import NO_ANSWER_NEEDED
from agent_worker.briefing import PLAN_NEWS
from coordination.mail.positions import DELIVERY_KIND
from coordination.protocols import ANSWER
from harness.context.messages import blocks_of
from harness.context.reminder import REMINDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from harness.context.messages import Block, Message
    from harness.loop import Incoming


def asks_for_an_answer(item: Incoming) -> bool:
    """True for mail that somebody wrote; what else arrives without a task is only to be known."""
    return item.kind == DELIVERY_KIND and item.journal["message"]["type"] not in NO_ANSWER_NEEDED


def awaits_decision(messages: Iterable[Message]) -> bool:
    """True when a plan was submitted, and nothing was said since of what became of it."""
    waits = False
    for block in _blocks(messages):
        if block.get("name") == "submit_plan":
            waits = True
        elif _said(block).startswith(PLAN_NEWS):
            waits = False
    return waits


def awaits_answer_of(messages: Iterable[Message]) -> str:
    """Who was written to last, if nothing was said to the teammate since; else nobody."""
    asked, sent = "", dict[str, str]()
    for block in _blocks(messages):
        if block.get("name") == "send_message":
            sent[block["id"]] = str(block["input"].get("to", ""))
        elif block.get("tool_use_id") in sent and not block.get("is_error"):
            asked = sent[block["tool_use_id"]]
        elif (said := _said(block)) and said != REMINDER:
            asked = ""
    return asked


def circle(me: str, asked: str, waits: Mapping[str, str]) -> list[str]:
    """Who would wait for each other if `me` waited for `asked` too; `waits` says what each waits for."""
    around = [me]
    while asked not in around:
        around.append(asked)
        asked = waits.get(asked, "").removeprefix(ANSWER) if waits.get(asked, "").startswith(ANSWER) else ""
    return around if asked == me else []


def _blocks(messages: Iterable[Message]) -> Iterator[Block]:
    """Calls of the model, and all that was said to it."""
    for message in messages:
        own = message["role"] == "assistant"
        yield from (block for block in blocks_of(message) if not own or block.get("type") == "tool_use")


def _said(block: dict[str, Any]) -> str:
    return block.get("text") or "" if block.get("type") == "text" else ""
