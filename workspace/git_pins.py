"""What decides which programs git runs, as it was at one moment; a change stops the git of the host."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError

if TYPE_CHECKING:
    from pathlib import Path

_FILES = ("config", "config.worktree", "info/attributes")
_HOOKS = "hooks"
_Mark = tuple[int, int, int]  # when it was changed last, its size, its inode
_NOTHING: _Mark = (0, 0, 0)


@dataclass(eq=False)
class GitChanged(TeamError):
    """A file that decides what git runs is not as it was."""

    path: str
    says = (
        "{path} was changed since this process began, and decides which programs git runs; look at it, then "
        "`leadhand stop` and `leadhand resume` take it as it is"
    )


class GitPins:
    """The files of one repository as they were when this object was made."""

    def __init__(self, common: Path) -> None:
        self._common = common
        self._digests = {name: _digest(common / name) for name in self._names()}
        self._marks = {name: _mark(common / name) for name in self._digests}

    def check(self) -> None:
        """Nothing has changed; costs a look at each file, not a read. Raises GitChanged."""
        for name in self._names() | self._digests.keys():
            mark = _mark(self._common / name)
            if mark == self._marks.get(name, _NOTHING):
                continue
            if _digest(self._common / name) != self._digests.get(name, ""):
                raise GitChanged(path=str(self._common / name))
            self._marks[name] = mark

    def _names(self) -> set[str]:
        try:
            hooks = os.listdir(self._common / _HOOKS)  # noqa: PTH208 - names alone
        except OSError:
            hooks = []
        return {*_FILES, *(f"{_HOOKS}/{name}" for name in hooks if not name.endswith(".sample"))}


def _mark(path: Path) -> _Mark:
    try:
        found = path.stat()
    except OSError:
        return _NOTHING
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(path: Path) -> str:
    """SHA-256 of what the file holds; empty without one."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""
