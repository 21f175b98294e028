"""How long to wait for a lock file of git, and which one that nobody holds may be removed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordination.clock import Clock

PATIENCE_SECONDS = 10.0  # a git that lives holds a lock for milliseconds
_LOCKED = re.compile(
    r"Unable to create '(?P<path>.+\.lock)': File exists|could not lock config file .*exists"
)
# Where only teams write: the registrations of worktrees, and the branches of runs and tasks.
_OURS = ("worktrees", "refs/heads/leadhand")


class LockWatch:
    """Decides after each refusal of one command whether to try again."""

    def __init__(self, common: Path, clock: Clock) -> None:
        self._common = common
        self._clock = clock
        self._started = clock.monotonic()
        self._seen: tuple[int, int] | None = None  # inode and time of the lock since the first look
        self._changed = False
        self._broken = False

    def worth_another_try(self, stderr: str) -> bool:
        """True after a refusal for a lock, within the patience, or when a dead lock was removed.

        Dead is a lock of ours that stayed the very same file for the whole patience: what a killed
        git leaves behind. Anybody else's is left alone.
        """
        locked = _LOCKED.search(stderr)
        if not locked or self._broken:
            return False
        path = Path(locked["path"] or self._common / "config.lock")
        self._look(path)
        if self._clock.monotonic() - self._started < PATIENCE_SECONDS:
            return True
        if self._changed or not self._is_ours(path):
            return False
        path.unlink(missing_ok=True)
        self._broken = True
        return True

    def _look(self, path: Path) -> None:
        try:
            found = path.lstat()
        except OSError:  # released meanwhile
            self._changed = True
            return
        mark = (found.st_ino, found.st_mtime_ns)
        self._changed = self._changed or self._seen not in {None, mark}
        self._seen = mark

    def _is_ours(self, path: Path) -> bool:
        return any(path.is_relative_to(self._common / place) for place in _OURS)
