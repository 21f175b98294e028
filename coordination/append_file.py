"""A file of lines that one process alone appends to."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from coordination.errors import StateUnwritable
from coordination.files import write_all

if TYPE_CHECKING:
    from coordination.files import StateDirectory


class AppendFile:
    """Opened when the first line is appended, and anew by path after an error."""

    def __init__(self, directory: StateDirectory, name: str, *, durable: bool = True) -> None:
        self._directory = directory
        self._name = name
        self._durable = durable
        self._descriptor: int | None = None

    def append(self, line: bytes) -> int:
        """The line is in the file, begun and ended with a newline, and durable if the file is.

        Returns the offset behind it. A failed append leaves at most a torn line, which the newline
        of the next one ends: repeat it with the same id. Raises StateUnwritable.
        """
        try:
            if self._descriptor is None:
                self._descriptor = self._directory.open_append(self._name)
            write_all(self._descriptor, b"\n" + line + b"\n")
            if self._durable:
                sync = getattr(os, "fdatasync", os.fsync)  # macOS has no way to leave the times out
                sync(self._descriptor)
            return os.lseek(self._descriptor, 0, os.SEEK_CUR)
        except OSError as error:
            self.close()
            raise StateUnwritable.of(self._name, error) from error

    def close(self) -> None:
        """Give the descriptor back; a later append opens it again by path."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None
