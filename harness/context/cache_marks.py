"""Up to where a server may cache a request: after the system prompt and at the last two words of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.context.messages import blocks_of

if TYPE_CHECKING:
    from harness.context.messages import Block, Message

EPHEMERAL = {"type": "ephemeral"}
MARKED_MESSAGES = 2  # with the one after the system prompt three marks; a server takes four


def marked_system(system: str) -> list[Block]:
    """The system prompt as one block, cached with the tools before it."""
    return [{"type": "text", "text": system, "cache_control": EPHEMERAL}] if system else []


def marked_messages(messages: list[Message]) -> list[Message]:
    """The messages with a mark at the end of the last two of the user.

    Up to the earlier one the request before was cached; a server looks back only some blocks from a mark.
    """
    places = [place for place, message in enumerate(messages) if message["role"] == "user"][-MARKED_MESSAGES:]
    marked = list(messages)
    for place in places:
        *before, end = blocks_of(messages[place])
        marked[place] = {**messages[place], "content": [*before, {**end, "cache_control": EPHEMERAL}]}
    return marked
