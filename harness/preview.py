"""A long text as its begin and end."""

from __future__ import annotations


def preview(text: str, characters: int) -> str:
    """The first and the last part of a text, with the number of characters left out between."""
    if len(text) <= characters:
        return text
    head = characters // 2
    tail = characters - head
    return f"{text[:head]}\n… {len(text) - characters} characters left out …\n{text[-tail:]}"
