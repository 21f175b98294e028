"""What a process finds of the conversation that another one of its name left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.context.conversation import Conversation
from harness.journal import Line, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordination.files import StateDirectory


def left_behind(
    directory: StateDirectory,
    journal: str | None,
    offset: int,
    *,
    path_of: Callable[[str], str],
    counting: Callable[[str, Iterable[Line]], Iterable[Line]] = lambda _, lines: lines,
) -> Conversation:
    """The last conversation in a journal up to `offset`, or in those that it follows; calls are answered.

    `journal` is the process that wrote it, None for nobody; `path_of` says where its file lies, and
    `counting` how much the lines in it count.
    """
    lines: list[Line] = []
    until: int | None = offset
    seen: set[str] = set()
    while journal and journal not in seen:
        seen.add(journal)
        found = list(counting(journal, read(directory, path_of(journal), until=until)))
        lines[:0] = found
        if any(line["kind"] == "conversation" for line in found):
            break
        first = found[0] if found else {}
        journal, until = first.get("follows"), first.get("offset")
    return Conversation.of(lines)
