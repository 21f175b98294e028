"""A state directory whose disk or mount fails on demand."""

from __future__ import annotations

import errno
import os
from enum import Enum
from typing import TYPE_CHECKING

from coordination.files import StateDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.clock import Clock


class Fault(Enum):
    LOST_REPLY = "the link is made, and an error is reported"
    FULL_DISK = "the temporary file cannot be written"


class FaultyDirectory(StateDirectory):
    """Fails as often as `faults` says, in its order, when a numbered file is published."""

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        super().__init__(path, clock=clock)
        self.faults: list[Fault] = []
        self.unreadable: dict[str, int] = {}  # name to how often its opening still fails
        self._lose_reply = False

    def publish(self, name: str, data: bytes) -> OSError | None:
        fault = self.faults.pop(0) if self.faults else None
        self._lose_reply = fault is Fault.LOST_REPLY
        if fault is Fault.FULL_DISK:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().publish(name, data)

    def sync(self, directory: str) -> None:
        if self._lose_reply:
            self._lose_reply = False
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(directory)

    def read(self, name: str) -> bytes:
        left = self.unreadable.get(name, 0)
        if left:
            self.unreadable[name] = left - 1
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return super().read(name)
