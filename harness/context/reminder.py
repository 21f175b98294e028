"""Words of the host that a conversation needs at its time: about the todo list, about lost connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.context.conversation import TODO_TOOL
from harness.context.messages import blocks_of, text_of
from harness.roles.role import CONNECT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.context.conversation import Conversation

REMINDED_AFTER = 3  # batches of results without a todo list
REMINDER = (
    "<reminder>Bring your todo list up to date with todo_write if the work has several steps.</reminder>"
)
NOT_CONNECTED = (
    "<reminder>Your process was started again, and no MCP server is connected to it yet. "
    "Before you use tools of {servers} again, call connect_mcp.</reminder>"
)
Entry = tuple[str, dict[str, Any]]


def with_results(conversation: Conversation, tools: Sequence[dict[str, Any]]) -> list[Entry]:
    """What goes to the journal behind the results of the calls that the last reply made."""
    is_third = conversation.rounds_without_todos == REMINDED_AFTER - 1
    return _about_todos(tools) if is_third and not conversation.calls_todos else []


def after_restart(left: Conversation, tools: Sequence[dict[str, Any]]) -> list[Entry]:
    """What a conversation that goes on is told, if it owes an answer: a word alone would ask for one.

    Among it is what the process that ended could not write any more.
    """
    if not left.messages or left.messages[-1]["role"] != "user":
        return []
    is_told = REMINDER in map(text_of, left.messages[-1]["content"])
    is_due = left.rounds_without_todos == REMINDED_AFTER and not is_told
    return [*(_about_todos(tools) if is_due else []), *_about_servers(left, tools)]


def _about_todos(tools: Sequence[dict[str, Any]]) -> list[Entry]:
    return [("reminder", {"text": REMINDER})] if _has(tools, TODO_TOOL) else []


def _about_servers(left: Conversation, tools: Sequence[dict[str, Any]]) -> list[Entry]:
    blocks = (block for message in left.messages for block in blocks_of(message))
    calls = (block["input"] for block in blocks if block.get("name") == CONNECT)
    servers = dict.fromkeys(str(given["name"]) for given in calls if given.get("name"))
    is_owed = servers and _has(tools, CONNECT)
    return [("reminder", {"text": NOT_CONNECTED.format(servers=", ".join(servers))})] if is_owed else []


def _has(tools: Sequence[dict[str, Any]], name: str) -> bool:
    return any(schema["name"] == name for schema in tools)
