"""The messages of a conversation: how they grow, and what makes them fit to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Message = dict[str, Any]  # of the Messages API
Block = dict[str, Any]
OUTCOME_UNKNOWN = (
    "[loop/outcome_unknown] the process stopped while this call was running; "
    "its effect may have happened: look before you repeat it"
)


def history(lines: Iterable[dict[str, Any]]) -> list[Message]:
    """The messages of the last conversation in `lines`, fit to be sent, with every call answered."""
    messages: list[Message] = []
    for line in lines:
        fold(messages, line)
    unanswered = open_calls(messages)
    if unanswered:
        fold(messages, {"kind": "tool_results", "content": unknown_outcomes(unanswered)})
    return messages


def fold(messages: list[Message], line: dict[str, Any]) -> None:
    """`messages` go on by what `line` says: user-side lines gather in one message, results first."""
    match line["kind"]:
        case "conversation":
            messages.clear()
        case "assistant":
            content = [block for block in line["content"] if not _is_blank(block)]
            if content:
                messages.append({"role": "assistant", "content": content})
        case "tool_results":
            _user_message(messages)["content"][:0] = line["content"]
        case _:
            text = line.get("text")
            if isinstance(text, str) and text.strip():
                _user_message(messages)["content"].append({"type": "text", "text": text})


def open_calls(messages: list[Message]) -> list[str]:
    """Ids of the calls in the last assistant message that have no result yet."""
    calls: list[str] = []
    for message in messages[-2:]:
        for block in blocks_of(message):
            if block.get("type") == "tool_use":
                calls.append(block["id"])
            elif block.get("type") == "tool_result" and block["tool_use_id"] in calls:
                calls.remove(block["tool_use_id"])
    return calls


def unknown_outcomes(calls: list[str]) -> list[Message]:
    """A result for each call that nobody saw end."""
    return [
        {"type": "tool_result", "tool_use_id": call, "content": OUTCOME_UNKNOWN, "is_error": True}
        for call in calls
    ]


def fault(messages: list[Message]) -> str | None:
    """Why a server would reject the messages, or None."""
    if not messages or messages[0]["role"] != "user":
        return "messages: the first message must be of the user"
    awaited: list[str] = []
    for place, message in enumerate(messages):
        blocks = blocks_of(message)
        if not blocks or any(_is_blank(block) for block in blocks):
            return f"messages.{place}: content and texts must not be empty"
        answered = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        if answered != [block.get("tool_use_id") for block in blocks[: len(answered)]]:
            return f"messages.{place}: tool_result blocks must come first"
        if sorted(answered) != sorted(awaited):
            return (
                f"messages.{place}: expected results for {awaited or 'no call'}, found {answered or 'none'}"
            )
        awaited = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    return f"messages: no results for {awaited}" if awaited else None


def blocks_of(message: Message) -> list[Block]:
    """The content as blocks, also when it is written as a mere text."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _user_message(messages: list[Message]) -> Message:
    if not messages or messages[-1]["role"] != "user":
        messages.append({"role": "user", "content": []})
    return messages[-1]


def _is_blank(block: Block) -> bool:
    return block.get("type") == "text" and not (block.get("text") or "").strip()
