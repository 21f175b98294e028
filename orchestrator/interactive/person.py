"""The person at the terminal of a lead: words for the conversation, answers to questions, slash commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from harness.loop import Inbox, Incoming

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from orchestrator.interactive.lines import Lines
    from orchestrator.terminal.console import Console

SECONDS_TO_MEAN_IT = 3.0  # within which a second Ctrl-C ends the session


class Person(Inbox):
    """Whoever types; as an inbox it brings what was said to the lead's conversation."""

    def __init__(self, console: Console, command: Callable[[str], Awaitable[bool]]) -> None:
        """`command` runs a line that begins with a slash; False means that the person leaves."""
        self.has_left = False
        self.is_asked = False  # a question is open, which the next line answers
        self._console = console
        self._command = command
        self._ring: Callable[[], None] = lambda: None
        self._said: list[str] = []
        self._answer = ""
        self._answered = anyio.Event()
        self._turn: anyio.CancelScope | None = None
        self._last_interrupt: float | None = None

    async def attend(self, lines: Lines, ring: Callable[[], None]) -> None:
        """Lines go where they belong until the person leaves; `ring` wakes the lead."""
        self._ring = ring
        while not self.has_left:
            await self._hear_line(lines)
            ring()

    async def first_word(self, lines: Lines) -> str | None:
        """What was said first; None when the person leaves without a word."""
        while not self.has_left and not self._said:
            await self._hear_line(lines)
        return self._said.pop(0) if self._said else None

    async def _hear_line(self, lines: Lines) -> None:
        line = await lines.read()
        if line is None:
            self.leave()
        elif line.strip().startswith("/"):  # also while a question is open: a verb may answer it
            if not await self._command(line.strip()[1:]):
                self.leave()
        elif self.is_asked:
            self._take_answer(line)
        elif line.strip():
            self._said.append(line.strip())

    def leave(self) -> None:
        """The session is to end; a question still open is answered with nothing."""
        self.has_left = True
        if self.is_asked:
            self._take_answer("")

    def interrupt(self) -> bool:
        """Ctrl-C: the running turn is cancelled; False when there is none, or it was pressed twice."""
        now = anyio.current_time()
        is_second = self._last_interrupt is not None and now - self._last_interrupt < SECONDS_TO_MEAN_IT
        self._last_interrupt = now
        if is_second:
            self.leave()
            return False
        if self.is_asked:
            self._take_answer("")
            return True
        if self._turn is not None:
            self._turn.cancel()
            self._console.say("the turn is cancelled; Ctrl-C once more ends the session")
            return True
        self._console.say("nothing runs; Ctrl-C once more, or Ctrl-D, ends the session")
        return True

    async def in_turn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work of one turn; the person may cancel it."""
        with anyio.CancelScope() as self._turn:
            self._ring()
            await work()
        self._turn = None
        self._ring()

    async def ask(self, question: str) -> str:
        """What the person types next; empty when it is interrupted or the session ends."""
        if self.has_left:
            return ""
        self.is_asked, self._answered = True, anyio.Event()
        self._console.say(f"{question}:")
        try:
            await self._answered.wait()
        finally:
            self.is_asked = False  # answered elsewhere: the next line is no answer
        return self._answer

    def _take_answer(self, line: str) -> None:
        self.is_asked, self._answer = False, line.strip()
        self._answered.set()

    @property
    def is_waiting(self) -> bool:
        """True while no turn runs."""
        return self._turn is None

    async def take(self) -> list[Incoming]:
        """What was said since the last call."""
        said, self._said = self._said, []
        return [Incoming(text=text) for text in said]
