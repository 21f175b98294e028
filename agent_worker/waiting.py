"""Pure: what a conversation waits for, read off what was said in it; and what in it waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_worker.assignment import NO_ANSWER_NEEDED
from agent_worker.briefing import PLAN_NEWS
from coordination.mail.positions import DELIVERY_KIND
from harness.context.messages import blocks_of
from harness.context.reminder import REMINDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def awaits_lead(messages: Iterable[Message]) -> bool:
    """True when the lead was written to, and nothing was said to the teammate since."""
    waits, sent = False, set[str]()
    for block in _blocks(messages):
        if block.get("name") == "send_message" and block["input"].get("to") == "lead":
            sent.add(block["id"])
        elif block.get("tool_use_id") in sent and not block.get("is_error"):
            waits = True
        elif (said := _said(block)) and said != REMINDER:
            waits = False
    return waits


def _blocks(messages: Iterable[Message]) -> Iterator[Block]:
    """Calls of the model, and all that was said to it."""
    for message in messages:
        own = message["role"] == "assistant"
        yield from (block for block in blocks_of(message) if not own or block.get("type") == "tool_use")


def _said(block: dict[str, Any]) -> str:
    return block.get("text") or "" if block.get("type") == "text" else ""
