"""A file system of limited size, so that a full disk can be tried without filling the person's."""

from __future__ import annotations

import os
import shutil
import subprocess  # noqa: TID251 - nothing else mounts
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MEGABYTES = 256
BALLAST = "ballast"


class SmallDisk:
    """The directory, a file system of its own where this process may mount one."""

    def __init__(self, place: Path) -> None:
        self.is_mounted = _mount(place)
        self._place = place

    def fill(self) -> bool:
        """Not a byte is free; true, since nobody else writes here so fast."""
        with suppress(OSError), (self._place / BALLAST).open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with suppress(OSError):
                    while file.write(b"\0" * size):
                        pass
        return True

    def free(self) -> None:
        """There is room again."""
        (self._place / BALLAST).unlink(missing_ok=True)

    def close(self) -> None:
        """The file system is gone with all that is on it."""
        if self.is_mounted:
            _call("umount", "--lazy", str(self._place))


def _mount(place: Path) -> bool:
    options = f"size={MEGABYTES}m,mode=0700"
    return os.geteuid() == 0 and _call("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place))


def _call(name: str, *arguments: str) -> bool:
    program = shutil.which(name)
    return (
        bool(program)
        and not subprocess.run([str(program), *arguments], capture_output=True, check=False).returncode
    )
