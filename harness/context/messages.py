"""Messages of the Messages API: their blocks, what they weigh, and what makes them fit to be sent."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]
Block = dict[str, Any]
OUTCOME_UNKNOWN = (
    "[loop/outcome_unknown] the process stopped while this call was running; "
    "its effect may have happened: look before you repeat it"
)
LOST_RESULT = "(a result whose call is no longer here) "
IMAGE_CHARACTERS = 6400  # 1,600 tokens, what a server takes at most for one, at 4 characters each
BLOCK_CHARACTERS = 40  # of names and brackets around what a block holds


def blocks_of(message: Message) -> list[Block]:
    """The content as blocks, also when it is written as a mere text."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def parts_of(result: Block) -> list[Block]:
    """The content of a tool result as blocks."""
    content = result.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(result: Block) -> str:
    """The texts of a tool result, or of a text block."""
    if result.get("type") == "text":
        return result.get("text") or ""
    return "\n".join(part.get("text") or "" for part in parts_of(result) if part.get("type") == "text")


def size_of(value: Any) -> int:  # noqa: ANN401 - raw JSON
    """Characters of a block, or of any part of one; an image counts as what it costs, not as its data."""
    match value:
        case str():
            return len(value)
        case {"type": "image" | "document"}:
            return IMAGE_CHARACTERS
        case dict():
            return BLOCK_CHARACTERS + sum(size_of(inner) for inner in value.values())
        case list():
            return sum(size_of(inner) for inner in value)
        case _:
            return 4


def holds_image(block: Block) -> bool:
    """True for an image, and for a result with one."""
    return block.get("type") == "image" or (
        block.get("type") == "tool_result" and any(part.get("type") == "image" for part in parts_of(block))
    )


def is_blank(block: Block) -> bool:
    """True for a text block that no server takes."""
    return block.get("type") == "text" and not (block.get("text") or "").strip()


def call_ids(message: Message) -> list[str]:
    """Ids of the calls in a message."""
    return [block["id"] for block in blocks_of(message) if block.get("type") == "tool_use"]


def result_ids(message: Message) -> list[str]:
    """Ids of the calls that a message answers."""
    return [block["tool_use_id"] for block in blocks_of(message) if block.get("type") == "tool_result"]


def open_calls(messages: list[Message]) -> list[str]:
    """Ids of the calls in the last assistant message that have no result yet."""
    calls: list[str] = []
    for message in messages[-2:]:
        calls += call_ids(message)
        answered = result_ids(message)
        calls = [call for call in calls if call not in answered]
    return calls


def unknown_outcomes(calls: list[str]) -> list[Block]:
    """A result for each call that nobody saw end."""
    return [
        {"type": "tool_result", "tool_use_id": call, "content": OUTCOME_UNKNOWN, "is_error": True}
        for call in calls
    ]


def repaired(messages: list[Message]) -> list[Message]:
    """The messages, fit to be sent, whatever was cut off or stored badly; nothing of them is run again."""
    kept: list[Message] = []
    for message in messages:
        awaited = open_calls(kept)
        if awaited and (message["role"] != "user" or set(awaited) - set(result_ids(message))):
            missing = unknown_outcomes([call for call in awaited if call not in result_ids(message)])
            if message["role"] != "user":
                kept.append({"role": "user", "content": missing})
            else:
                message = {**message, "content": [*missing, *blocks_of(message)]}  # noqa: PLW2901
        blocks = _fit_blocks(message, awaited)
        if blocks and (kept or message["role"] == "user"):
            kept.append({**message, "content": blocks})
    unanswered = open_calls(kept)
    return [*kept, {"role": "user", "content": unknown_outcomes(unanswered)}] if unanswered else kept


def _fit_blocks(message: Message, awaited: list[str]) -> list[Block]:
    """Results of the awaited calls first, each once; a result without its call as mere text."""
    results, others = [], []
    waiting = list(awaited)
    for block in blocks_of(message):
        if block.get("type") != "tool_result":
            others.append(block)
        elif block["tool_use_id"] in waiting:
            waiting.remove(block["tool_use_id"])
            results.append(block)
        else:
            others.append({"type": "text", "text": LOST_RESULT + text_of(block)})
    return [*results, *(block for block in others if not is_blank(block))]


def fault(messages: list[Message]) -> str | None:
    """Why a server would reject the messages, or None."""
    if not messages or messages[0]["role"] != "user":
        return "messages: the first message must be of the user"
    awaited: list[str] = []
    for place, message in enumerate(messages):
        blocks = blocks_of(message)
        if not blocks or any(is_blank(block) for block in blocks):
            return f"messages.{place}: content and texts must not be empty"
        answered = result_ids(message)
        if answered != [block.get("tool_use_id") for block in blocks[: len(answered)]]:
            return f"messages.{place}: tool_result blocks must come first"
        if sorted(answered) != sorted(awaited):
            return (
                f"messages.{place}: expected results for {awaited or 'no call'}, found {answered or 'none'}"
            )
        awaited = call_ids(message)
    return f"messages: no results for {awaited}" if awaited else None
