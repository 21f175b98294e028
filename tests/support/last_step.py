"""A process that is killed at its n-th step towards the outside world."""

from __future__ import annotations

import os
import signal
import subprocess  # noqa: TID251 - the process that dies
import sys
from typing import Any

_COUNTS = """
import sys
from tests.support.last_step import LastStep
begin = LastStep(int(sys.argv.pop(1))).begin
"""
_CHANGES = frozenset(
    {
        "os.mkdir",
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "subprocess.Popen",
    }
)


class LastStep:
    """Once it has begun, files, directories, links and processes are steps; the process dies before one."""

    def __init__(self, step: int) -> None:
        """Steps count from 0."""
        self._left = step
        self._counts = False
        sys.addaudithook(self._watch)

    def begin(self) -> None:
        """Steps count from now on."""
        self._counts = True

    def end(self) -> None:
        """What comes now is no step."""
        self._counts = False

    def step(self) -> None:
        """One more step, or the last."""
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def _watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._counts:
            return
        flags = arguments[2] if event == "open" else 0
        if event in _CHANGES or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
            self.step()


def dies_at(step: int, code: str, *arguments: str) -> bool:
    """Whether the code was killed at that step, from 0; False when it came to its end before.

    It says `begin()` where its steps begin to count.
    """
    counted = f"{_COUNTS}\n{code}"
    ended = subprocess.run(
        [sys.executable, "-c", counted, str(step), *arguments],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr
    return ended.returncode != 0
