"""JSON as it is read and written: bytes that hold an object, and texts made fit for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable


def scrub(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def scrubbed(value: Any) -> Any:  # noqa: ANN401 - raw JSON
    """The value with every text in it as `scrub` leaves it."""
    return with_texts(value, scrub)


def with_texts(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - raw JSON
    """The value with every text in it changed; keys are only made fit for a file."""
    match value:
        case str():
            return change(value)
        case dict():
            return {scrub(str(key)): with_texts(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return [with_texts(inner, change) for inner in value]
        case _:
            return value


def json_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object that the bytes hold; None for anything else, what is nested too deep included."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
