"""How long to wait for another git, and which remains of a dead one may be removed."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.clock import Clock

PATIENCE_SECONDS = 10.0  # a git that lives holds a lock for milliseconds
_OBSTACLES = (
    # Of a file that another host has just made SSHFS says that making it is not permitted.
    re.compile(r"Unable to create '(?P<path>.+\.lock)': (File exists|Operation not permitted)"),
    re.compile(r"could not lock config file (?P<path>.+): (File exists|Operation not permitted)"),
    # Git reads the registrations of all worktrees, also one that another git has begun to write.
    re.compile(r"failed to read (?P<path>.+/worktrees/[^/]+/commondir): Success"),
)
# Where only teams write: the registrations of worktrees, and the branches of runs and tasks.
_OURS = ("worktrees", "refs/heads/leadhand")


class LockWatch:
    """Decides after each failure of one command whether to try again."""

    def __init__(self, common: Path, clock: Clock) -> None:
        self._common = common
        self._clock = clock
        self._started = clock.monotonic()
        self._seen: tuple[int, int] | None = None  # inode and time of the obstacle since the first look
        self._changed = False
        self._removed = False

    def worth_another_try(self, stderr: str) -> bool:
        """True while another git is in the way, within the patience, or when its remains were removed.

        Remains are an obstacle of ours that stayed the very same file for the whole patience: what a
        killed git leaves behind. Anybody else's is left alone.
        """
        found = next((match for pattern in _OBSTACLES if (match := pattern.search(stderr))), None)
        if not found or self._removed:
            return False
        obstacle = self._common.parent / found["path"]
        self._look(obstacle)
        if self._clock.monotonic() - self._started < PATIENCE_SECONDS:
            return True
        if self._changed or not any(obstacle.is_relative_to(self._common / place) for place in _OURS):
            return False
        _remove(obstacle)
        self._removed = True
        return True

    def _look(self, obstacle: Path) -> None:
        try:
            found = obstacle.lstat()
        except OSError:  # gone meanwhile
            self._changed = True
            return
        mark = (found.st_ino, found.st_mtime_ns)
        self._changed = self._changed or self._seen not in {None, mark}
        self._seen = mark


def _remove(obstacle: Path) -> None:
    if obstacle.suffix == ".lock":
        obstacle.unlink(missing_ok=True)
    elif obstacle.stat().st_size == 0:  # a registration without its end is of no use to anybody
        shutil.rmtree(obstacle.parent)
