"""A pseudo-terminal with a person at it: what they type, and what they see on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
import termios
import threading
from typing import TYPE_CHECKING

import pyte

from coordination.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

ROWS, COLUMNS = 50, 160
PATIENCE_SECONDS = 90.0
CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"


class _Screen(pyte.HistoryScreen):
    """Answers where its cursor is, as terminals do."""

    answer: Callable[[str], None]

    def becomes(self, columns: int) -> None:
        """What is too long for a line from now on goes on below it, as terminals do."""
        rows: list[dict[int, pyte.screens.Char]] = []
        for y in range(self.lines):
            cells = {x: cell for x, cell in self.buffer[y].items() if x < self.columns and cell.data != " "}
            if y == self.cursor.y:
                cursor = len(rows) + self.cursor.x // columns, self.cursor.x % columns
            begins = range(0, max(cells, default=0) + 1, columns)
            rows += [{x - at: cells[x] for x in cells if at <= x < at + columns} for at in begins]
        self.resize(columns=columns)
        for y, row in enumerate(rows[: self.lines]):
            self.buffer[y].clear()
            self.buffer[y].update(row)
        self.cursor.y, self.cursor.x = cursor

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """A running command on a terminal of its own."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        term: str | None = "xterm-256color",
        columns: int = COLUMNS,
    ) -> None:
        """`term` is what the terminal says it is; None when it says nothing."""
        self._master, follower = pty.openpty()
        told = {name: value for name, value in environment.items() if name not in {"TERM", "COLUMNS"}}
        self._resize(columns)
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=told if term is None else {**told, "TERM": term},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        self.raw = b""  # all that was sent to the terminal
        self._screen = _Screen(columns, ROWS, history=5000, ratio=0.5)
        self._screen.answer = self.presses
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def leadhand(
        cls,
        *arguments: str,
        cwd: Path,
        environment: Mapping[str, str],
        term: str | None = "xterm-256color",
        columns: int = COLUMNS,
    ) -> Terminal:
        command = [sys.executable, "-P", "-m", "orchestrator.cli.main", *arguments]
        return cls(command, cwd=cwd, environment=environment, term=term, columns=columns)

    def _resize(self, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

    def becomes(self, columns: int) -> None:
        """The window is as wide as that from now on."""
        with self._lock:
            self._screen.becomes(columns)
        self._resize(columns)
        self.process.send_signal(signal.SIGWINCH)

    def types(self, text: str) -> None:
        """The keys are pressed, Enter after them."""
        self.presses(text + ENTER)

    def presses(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    @property
    def text(self) -> str:
        """All that can be seen, and what has scrolled away above it."""
        with self._lock:
            columns = range(self._screen.columns)
            above = ["".join(line[x].data for x in columns) for line in self._screen.history.top]
            return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    def sees(self, pattern: str) -> re.Match[str]:
        """Wait until the pattern can be seen."""
        clock, deadline = SystemClock(), SystemClock().monotonic() + PATIENCE_SECONDS
        while True:
            is_running = self._reader.is_alive()  # what it showed at its end is looked at as well
            if found := re.search(pattern, self.text):
                return found
            assert clock.monotonic() < deadline, f"{pattern!r} was not seen on:\n{self.text}"
            assert is_running, f"ended without {pattern!r}: {self.text}"
            clock.sleep(0.05)

    def end(self) -> int:
        """The exit code, once it has ended."""
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(5)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        os.close(self._master)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the last process on the terminal has ended
                return
            with self._lock:
                self.raw += data
                self._stream.feed(data)
