"""Histories as data: those of tests/cases, as lines of a journal, and as hypothesis draws them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from harness.context.messages import blocks_of

CASES = Path(__file__).resolve().parents[1] / "cases" / "histories"
Message = dict[str, Any]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def case(name: str) -> dict[str, Any]:
    """One file of tests/cases/histories, by its number."""
    return json.loads(next(CASES.glob(f"{name}-*.json")).read_text(encoding="utf-8"))


def with_blocks(messages: list[Message]) -> list[Message]:
    """The same with every content as blocks, as a conversation holds them."""
    return [{**message, "content": blocks_of(message)} for message in messages]


def lines_of(messages: list[Message]) -> list[dict[str, Any]]:
    """The lines of a journal that these messages come from."""
    lines: list[dict[str, Any]] = []
    for message in messages:
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            lines.append({"kind": "assistant", "content": blocks})
            continue
        results = [block for block in blocks if block["type"] == "tool_result"]
        if results:
            lines.append({"kind": "tool_results", "content": results})
        lines += [{"kind": "user", "text": block["text"]} for block in blocks if block["type"] == "text"]
    return lines


texts = st.text("ab \n", min_size=1, max_size=30).filter(lambda text: bool(text.strip()))
long_texts = st.one_of(texts, st.integers(200, 6000).map(lambda length: "line of output\n" * (length // 15)))


@st.composite
def histories(draw: st.DrawFn, *, rounds: int = 12) -> list[Message]:
    """Valid ones: parallel calls, thinking, images, errors, mail between, with or without last words."""
    messages: list[Message] = [{"role": "user", "content": [{"type": "text", "text": draw(texts)}]}]
    for number in range(draw(st.integers(0, rounds))):
        calls = [f"tu_{number}_{index}" for index in range(draw(st.integers(0, 4)))]
        messages.append({"role": "assistant", "content": _said(draw, calls)})
        later = [{"type": "text", "text": text} for text in draw(st.lists(texts, max_size=2))]
        if draw(st.integers(0, 9)) == 0:
            later.append(IMAGE)
        if not calls and not later:
            later = [{"type": "text", "text": "go on"}]
        messages.append({"role": "user", "content": [*(_result(draw, call) for call in calls), *later]})
    if draw(st.booleans()):
        messages.append({"role": "assistant", "content": [{"type": "text", "text": draw(texts)}]})
    return messages


def _said(draw: st.DrawFn, calls: list[str]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if draw(st.booleans()):
        blocks.append({"type": "thinking", "thinking": draw(texts), "signature": "c2ln"})
    if draw(st.booleans()) or not calls:
        blocks.append({"type": "text", "text": draw(texts)})
    return [*blocks, *({"type": "tool_use", "id": call, "name": "look", "input": {}} for call in calls)]


def _result(draw: st.DrawFn, call: str) -> dict[str, Any]:
    text = draw(long_texts)
    content: Any = text
    if draw(st.integers(0, 4)) == 0:
        content = [{"type": "text", "text": text}, IMAGE]
    result = {"type": "tool_result", "tool_use_id": call, "content": content}
    return result | {"is_error": True} if draw(st.booleans()) else result
