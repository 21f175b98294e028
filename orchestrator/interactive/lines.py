"""Where a person's lines come from: a terminal with editing and history, or a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Protocol

import platformdirs
from anyio import to_thread
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.patch_stdout import patch_stdout

from orchestrator.interactive.drawing import Reflowed
from orchestrator.terminal.plain import breaks_lines_anew
from orchestrator.terminal.typed_line import TypedLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

PROMPT = "you> "
ANSWER_PROMPT = "answer> "  # while a question is open


class Lines(Protocol):
    """One line after the other; by itself with nothing around them."""

    def shown(self) -> AbstractContextManager[None]:
        """While it is entered, what is printed leaves the line being typed alone."""
        return nullcontext()

    async def read(self) -> str | None:
        """The next line; None at the end of input."""
        ...

    def show_status(self, _line: str, /) -> None:
        """Where there is room for it, this line stands below what is typed from now on."""
        return


class TerminalLines(Lines):
    """A terminal, which nothing else reads from or writes to while lines are read."""

    def __init__(
        self, words: Sequence[str], *, interrupt: Callable[[], bool], is_asked: Callable[[], bool]
    ) -> None:
        """`interrupt` is told of Ctrl-C; where it says False there was nothing to interrupt."""
        self._interrupt = interrupt
        self._status = "say what you want"
        self._session: PromptSession[str] = PromptSession(
            lambda: ANSWER_PROMPT if is_asked() else PROMPT,
            history=_history(),
            completer=WordCompleter([*words], sentence=True),
            complete_while_typing=False,
            key_bindings=self._keys(),
            bottom_toolbar=lambda: self._status,
        )
        if breaks_lines_anew():
            app = self._session.app
            app.renderer = Reflowed(app.renderer.style, app.output)

    def shown(self) -> AbstractContextManager[None]:
        return patch_stdout(raw=True)

    async def read(self) -> str | None:
        try:
            return await self._session.prompt_async()
        except EOFError:
            return None

    def show_status(self, line: str, /) -> None:
        if line != self._status:
            self._status = line
            self._session.app.invalidate()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def cancel(event: KeyPressEvent) -> None:
            """A line that was begun is dropped first; then the turn; then, by a second one, the session."""
            if event.current_buffer.text:
                event.current_buffer.reset()
            elif not self._interrupt():
                event.app.exit(exception=EOFError)

        return keys


class PlainLines(Lines):
    """A terminal that only shows characters: a line, and above it what is printed."""

    def __init__(self, *, interrupt: Callable[[], bool]) -> None:
        """`interrupt` as for a `TerminalLines`."""
        self._line = TypedLine(PROMPT, interrupt=interrupt)

    @contextmanager
    def shown(self) -> Iterator[None]:
        with redirect_stdout(_Above(self._line)):
            yield

    async def read(self) -> str | None:
        return await self._line.read()


class _Above(StringIO):
    """Standard output while a line is typed below it."""

    def __init__(self, line: TypedLine) -> None:
        super().__init__()
        self._line = line

    def write(self, text: str) -> int:
        self._line.above(text)
        return len(text)

    def isatty(self) -> bool:
        return True


class PipedLines(Lines):
    """A pipe or a file: lines as they come, nothing around them."""

    async def read(self) -> str | None:
        line = await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
        return line.rstrip("\n") if line else None


def _history() -> History:
    """What was typed in earlier sessions of this user; a home that cannot be written to keeps nothing."""
    try:
        return FileHistory(platformdirs.user_state_path("leadhand", ensure_exists=True) / "history")
    except OSError:
        return InMemoryHistory()
