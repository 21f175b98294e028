"""Results too long for the conversation: the whole text in a file, a preview for the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.files import StateDirectory


class ResultFiles:
    """One file per call under a directory of the team root; satisfies `harness.tool.OutputFiles`."""

    def __init__(self, root: StateDirectory, path: str, *, apart: str = "") -> None:
        """`path` is relative to the root and belongs to this process alone.

        With `apart` the files are written to a directory of that name below it.
        """
        self._root = root
        self._readable = path
        self._path = f"{path}/{apart}" if apart else path

    @property
    def directory(self) -> Path:
        return self._root.path / self._readable

    def write(self, call_id: str, text: str) -> Path:
        """The whole text is in the file returned; a second text of a call goes beside the first."""
        self._root.make(self._path)
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:64] or "call"  # the id is the model server's text
        names = set(self._root.names(self._path))
        name = next(n for n in _candidates(stem, len(names)) if n not in names)
        self._root.replace(f"{self._path}/{name}", text.encode("utf-8", "replace"))
        return self._root.path / self._path / name


def _candidates(stem: str, taken: int) -> list[str]:
    return [f"{stem}.txt", *(f"{stem}-{n}.txt" for n in range(2, taken + 3))]
