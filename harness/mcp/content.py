"""Pure: the result of a call as a model sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from harness.tool import Output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.mcp.calls import Answer
    from harness.mcp.names import Origin

IMAGE_CHARACTERS = 1_400_000  # of base64, about one megabyte; a larger image is only told of
IMAGES = 5  # of one result
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # that the Messages API takes


def render(origin: Origin, answer: Answer) -> Output:
    """The class of the outcome with its next step, then what the server said, as data."""
    outcome = answer.outcome
    head = f"[{outcome.kind}] {origin}: {outcome.next_step}"
    if outcome.detail:
        head = f"[{outcome.kind}/{outcome.reason}] {origin}: {outcome.detail}; {outcome.next_step}"
    result = answer.raw.get("result") if isinstance(answer.raw, dict) else None
    if not isinstance(result, dict):
        return Output(head)
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [_text(block) for block in blocks if isinstance(block, dict)]
    structured = result.get("structuredContent")
    if structured is not None and not any(_is_same(text, structured) for text in texts):
        texts.append(f"structured: {json.dumps(structured, ensure_ascii=False)}")
    images = [_image(block) for block in blocks if isinstance(block, dict) and _is_shown(block)]
    return Output("\n".join([head, *texts]), tuple(images[:IMAGES]))


def _text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio":
            shown = "shown" if _is_shown(block) else "not shown"
            return f"[{block['type']} {block.get('mimeType')}, {shown}]"
        case "resource_link":
            about = block.get("description") or block.get("title") or ""
            return f"[link to {block.get('name')}: {block.get('uri')} {about}".rstrip() + "]"
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return f"[{kind}, not shown]"


def _resource(resource: Any) -> str:  # noqa: ANN401 - raw JSON
    if not isinstance(resource, dict):
        return "[a resource without content]"
    head = f"[resource {resource.get('uri')}]"
    text = resource.get("text")
    return f"{head}\n{text}" if isinstance(text, str) else f"{head} (binary, not shown)"


def _is_shown(block: Mapping[str, Any]) -> bool:
    data = block.get("data")
    return (
        block.get("type") == "image"
        and block.get("mimeType") in IMAGE_TYPES
        and isinstance(data, str)
        and len(data) <= IMAGE_CHARACTERS
    )


def _image(block: Mapping[str, Any]) -> dict[str, Any]:
    source = {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}
    return {"type": "image", "source": source}


def _is_same(text: str, structured: Any) -> bool:  # noqa: ANN401 - raw JSON
    """Servers are asked to repeat structured content as text; once is enough for a model."""
    try:
        return bool(json.loads(text) == structured)
    except ValueError:
        return False
