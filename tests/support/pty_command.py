"""A command at a terminal of its own, at which a test types and reads."""

from __future__ import annotations

import os
import pty
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
import threading
from typing import TYPE_CHECKING, Self

from coordination.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

PATIENCE_SECONDS = 90.0


class PtyCommand:
    """Runs `leadhand ARGUMENTS`; what it shows is collected by a thread, so that it never waits."""

    def __init__(self, *arguments: str, cwd: Path, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "orchestrator.cli.main", *arguments],
            cwd=cwd,
            env={**environment, "NO_COLOR": "1", "TERM": "dumb"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._shown = ""
        self._seen = 0  # so much of it was waited for
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        os.close(self._master)

    @property
    def shown(self) -> str:
        return self._shown

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait(self, text: str) -> None:
        """Until the terminal has shown the text, behind what was waited for before."""
        clock, deadline = SystemClock(), SystemClock().monotonic() + PATIENCE_SECONDS
        while (found := self._shown.find(text, self._seen)) < 0:
            assert clock.monotonic() < deadline, f"{text!r} was not shown; there is {self._shown[-3000:]}"
            clock.sleep(0.03)
        self._seen = found + len(text)

    def end(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        return code

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the last writer has closed it
                return
            if not data:
                return
            self._shown += data.decode("utf-8", "replace")
