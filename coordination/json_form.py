"""JSON as it is read and written: bytes that hold an object, and texts made fit for a file."""

from __future__ import annotations

from typing import Any

import msgspec


def scrub(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def scrubbed(value: Any) -> Any:  # noqa: ANN401 - raw JSON
    """The value with every text in it, keys included, as `scrub` leaves it."""
    match value:
        case str():
            return scrub(value)
        case dict():
            return {scrub(str(key)): scrubbed(item) for key, item in value.items()}
        case list() | tuple():
            return [scrubbed(item) for item in value]
        case _:
            return value


def json_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object that the bytes hold; None for anything else, what is nested too deep included."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
