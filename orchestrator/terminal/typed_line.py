"""A line as it is typed at a terminal of which nothing is expected but that it shows characters."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import termios
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENTER, ERASE, KILL, INTERRUPT, END, ESCAPE = "\r\n", "\x7f\b", "\x15", "\x03", "\x04", "\x1b"


class TypedLine:
    """One owner of what stands behind the prompt: what else is said meanwhile comes above it."""

    def __init__(self, prompt: str, *, interrupt: Callable[[], bool] | None = None) -> None:
        """`interrupt` is told of Ctrl-C, and False ends the input; without it the process gets a signal."""
        self._prompt = prompt
        self._interrupt = interrupt
        self._out = sys.stdout
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._typed = ""  # and not read yet
        self._text = ""
        self._is_shown = False
        self._writing = threading.Lock()

    async def read(self) -> str | None:
        """The next line; None at the end of input. Can be cancelled."""
        terminal = sys.stdin.fileno()
        with self._unedited(terminal):
            self._show()
            try:
                while True:
                    while self._typed:
                        letter, self._typed = self._typed[0], self._typed[1:]
                        if letter in ENTER:
                            return self._text
                        if not self._take(letter):
                            return None
                    if not await self._more(terminal):
                        return None
            finally:
                self._hide()

    def above(self, text: str) -> None:
        """The text stands on lines of its own, and the prompt with what was typed so far below it."""
        with self._writing:
            if not self._is_shown or not text:
                self._write(text)
                return
            end = "" if text.endswith("\n") else "\n"
            self._write(f"{self._erased()}{text}{end}{self._prompt}{self._text}")

    def _show(self) -> None:
        with self._writing:
            self._text, self._is_shown = "", True
            self._write(self._prompt)

    def _hide(self) -> None:
        with self._writing:
            self._is_shown = False
            self._write("\n")

    async def _more(self, terminal: int) -> bool:
        await anyio.wait_readable(terminal)
        try:
            data = os.read(terminal, 1024)
        except OSError:  # the terminal is gone
            return False
        self._typed += self._decoder.decode(data)
        return bool(data)

    def _take(self, letter: str) -> bool:
        """The letter is done; False when it ends the input."""
        if letter == INTERRUPT and not self._text:
            return self._interrupt is None or self._interrupt()
        if letter == END:
            return bool(self._text)
        if letter == ESCAPE:  # an arrow, or another key that means nothing here
            self._typed = self._typed.lstrip("[O0123456789;")[1:]
            return True
        with self._writing:
            if letter in ERASE:
                self._drop(1)
            elif letter in {KILL, INTERRUPT}:
                self._drop(len(self._text))
            elif letter.isprintable():
                self._text += letter
                self._write(letter)
        return True

    def _drop(self, letters: int) -> None:
        gone = min(letters, len(self._text))
        self._text = self._text[: len(self._text) - gone]
        self._write("\b \b" * gone)

    def _erased(self) -> str:
        """What takes the prompt away; where it fills more than a line, or goes to a file, it stays."""
        letters = len(self._prompt) + len(self._text)
        fits = self._out.isatty() and letters < shutil.get_terminal_size().columns
        return f"\r{' ' * letters}\r" if fits else "\n"

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    @contextmanager
    def _unedited(self, terminal: int) -> Iterator[None]:
        """The terminal gives each key as it is pressed and shows none by itself."""
        before = termios.tcgetattr(terminal)
        mode = termios.tcgetattr(terminal)
        mode[3] &= ~(termios.ICANON | termios.ECHO | (termios.ISIG if self._interrupt else 0))
        termios.tcsetattr(terminal, termios.TCSADRAIN, mode)
        try:
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
