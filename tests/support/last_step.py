"""A process that is killed at its n-th step towards the outside world."""

from __future__ import annotations

import os
import signal
import subprocess  # noqa: TID251 - the process that dies
import sys

# What changes something outside: files, directories, links, processes.
_STEPS = """
import os, signal, sys
left = int(sys.argv.pop(1))
def watch(event, arguments):
    global left
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink",
                           "os.truncate", "subprocess.Popen"}:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def dies_at(step: int, code: str, *arguments: str) -> bool:
    """Whether the code was killed at that step, from 0; False when it came to its end before.

    It says `begin()` where its steps begin to count.
    """
    script = f"{_STEPS}\ndef begin():\n    sys.addaudithook(watch)\n{code}"
    ended = subprocess.run(
        [sys.executable, "-c", script, str(step), *arguments],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr
    return ended.returncode != 0
