"""Conversations as they are on disk after real processes held them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from harness.context.conversation import Conversation
from harness.context.messages import OUTCOME_UNKNOWN, blocks_of, text_of

if TYPE_CHECKING:
    from tests.support.team_process import Stage

Messages = list[dict[str, Any]]
ID = re.compile(r"\b(?:task|run|req|msg|bg|toolu)_\w+")


def left(stage: Stage, who: str) -> Conversation:
    """What that process came to."""
    return Conversation.of(stage.journal(who))


def of_teammate(stage: Stage, name: str) -> Conversation:
    """What the newest process of that name came to."""
    member = stage.stores.roster.member(name)
    assert member
    return left(stage, member.bearer)


def comparable(messages: Messages) -> list[Any]:
    """The messages without ids and times; a result whose call a kill cut off counts as any result."""
    return [
        (
            message["role"],
            [
                (block["type"], without_ids(block.get("text")), block.get("name"), block.get("input"))
                for block in message["content"]
                if not text_of(block).startswith("<time>")
            ],
        )
        for message in messages
    ]


def without_ids(text: str | None) -> str | None:
    return text and ID.sub("ID", text)


def calls(of: Conversation) -> Messages:
    return [block for message in of.messages for block in blocks_of(message) if block["type"] == "tool_use"]


def results(of: Conversation) -> Messages:
    return [
        block for message in of.messages for block in blocks_of(message) if block["type"] == "tool_result"
    ]


def unknown(of: Conversation) -> list[str]:
    """The calls whose end nobody saw."""
    return [block["tool_use_id"] for block in results(of) if text_of(block) == OUTCOME_UNKNOWN]


def told(of: Conversation) -> list[str]:
    """All texts that were said to the model, in order."""
    users = (message for message in of.messages if message["role"] == "user")
    return [text_of(block) for message in users for block in blocks_of(message) if block["type"] == "text"]
