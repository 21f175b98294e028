"""The word that comes once, with the third batch of results in a row without a look at the todos."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.context.conversation import TODO_TOOL
from harness.context.messages import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.context.conversation import Conversation

REMINDED_AFTER = 3  # batches of results without a todo list
REMINDER = (
    "<reminder>Bring your todo list up to date with todo_write if the work has several steps.</reminder>"
)
Entry = tuple[str, dict[str, Any]]


def with_results(conversation: Conversation, tools: Sequence[dict[str, Any]]) -> list[Entry]:
    """What goes to the journal behind the results of the calls that the last reply made."""
    is_third = conversation.rounds_without_todos == REMINDED_AFTER - 1
    return _word(tools) if is_third and not conversation.calls_todos else []


def cut_off(left: Conversation, tools: Sequence[dict[str, Any]]) -> list[Entry]:
    """The same for a conversation whose process ended before it could write that."""
    if left.rounds_without_todos != REMINDED_AFTER:
        return []
    last = [message for message in left.messages[-1:] if message["role"] == "user"]
    is_cut_off = any(REMINDER not in map(text_of, message["content"]) for message in last)
    return _word(tools) if is_cut_off else []


def _word(tools: Sequence[dict[str, Any]]) -> list[Entry]:
    has_todos = any(schema["name"] == TODO_TOOL for schema in tools)
    return [("reminder", {"text": REMINDER})] if has_todos else []
