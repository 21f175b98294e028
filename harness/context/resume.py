"""What a process finds of the conversation that another one of its name left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.context.conversation import Conversation
from harness.journal import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.files import StateDirectory


def left_behind(
    directory: StateDirectory, journal: str | None, offset: int, *, path_of: Callable[[str], str]
) -> Conversation:
    """The last conversation in a journal up to `offset`, or in those that it follows; calls are answered.

    `journal` is the process that wrote it, None for nobody; `path_of` says where its file lies.
    """
    lines: list[dict[str, Any]] = []
    until: int | None = offset
    seen: set[str] = set()
    while journal and journal not in seen:
        seen.add(journal)
        found = list(read(directory, path_of(journal), until=until))
        lines[:0] = found
        if any(line["kind"] == "conversation" for line in found):
            break
        first = found[0] if found else {}
        journal, until = first.get("follows"), first.get("offset")
    return Conversation.of(lines)
