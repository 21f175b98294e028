"""Run a command of the person to its end: bounded in time, its output kept, nothing of it left behind."""

from __future__ import annotations

import os
import select
import subprocess  # noqa: TID251 - checks and set-up are commands of the person
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.child import Confine, end_group, in_shell, on_a_leash, unconfined
from coordination.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

GRACE_SECONDS = 2.0  # between SIGTERM and SIGKILL to a command that ran out of time
_LOOK_SECONDS = 0.05  # how late the end of a command is seen while a child of it holds its output open


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A command that has ended."""

    exit_code: int | None  # None: it did not end in time, or was stopped
    seconds: float
    output: str  # the end of what it printed


class CommandRunner:
    """Runs shell commands one after the other; their input is closed."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        stopping: Callable[[], bool] = lambda: False,
        confine: Confine = unconfined,
    ) -> None:
        """`stopping` is asked many times a second while a command runs, from the thread that runs it."""
        self.stopping = stopping
        self._confine = confine
        self.is_confined = confine is not unconfined
        self._clock = clock or SystemClock()

    def run(
        self, command: str, *, cwd: Path, environment: Mapping[str, str], timeout_seconds: float, kept: int
    ) -> Ran:
        """The command has ended, and so has every process of its group; the last `kept` bytes are there.

        Raises what `Confine` does.
        """
        started = self._clock.monotonic()
        with subprocess.Popen(
            on_a_leash(self._confine(in_shell(command), cwd)),
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                output, in_time = self._listen(process, started + timeout_seconds, kept)
            finally:  # children it left behind go with it
                end_group(process.pid, self._clock, patience_seconds=GRACE_SECONDS)
        if not in_time:
            output += f"\n[stopped: not done after {timeout_seconds:g} s]".encode()
        return Ran(
            exit_code=process.returncode if in_time else None,
            seconds=round(self._clock.monotonic() - started, 3),
            output=output.decode("utf-8", "replace").strip(),
        )

    def _listen(self, process: subprocess.Popen[bytes], deadline: float, kept: int) -> tuple[bytes, bool]:
        """The end of the output, and whether the command ended in time; it has when its shell has."""
        tail = b""
        while self._clock.monotonic() < deadline and not self.stopping():
            ended = process.poll() is not None
            tail = (tail + _next_output(process))[-kept:]
            if ended:  # a child left behind may hold the output open, and even write on
                return tail, True
        return tail, False


def _next_output(process: subprocess.Popen[bytes]) -> bytes:
    """What the process has printed; empty when there is nothing for a moment, or no more."""
    assert process.stdout is not None
    poll = select.poll()  # `select` itself fails in a process with many open files
    poll.register(process.stdout, select.POLLIN)
    if not poll.poll(0 if process.returncode is not None else _LOOK_SECONDS * 1000):
        return b""
    output = os.read(process.stdout.fileno(), 65536)
    if not output:  # closed, so there is only the end left to wait for
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_LOOK_SECONDS)
    return output
