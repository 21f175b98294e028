"""What may be expected of the terminal, and what may get to it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap

import click

LEAST_COLUMNS = 20  # that a row has, however narrow the terminal is
# What moves the cursor, hides, renames or copies (control characters of ECMA-48, with U+0080 to U+009F), what
# reorders what is read (Unicode TR 36, 3.5), and what no encoding can hold (of a name that is no text); the
# colors and weights that leadhand itself uses pass.
_STEERS = re.compile(
    r"(\x1b\[(?:[0-3]|3[1-6]|9[1-6])m)|"
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
PLAIN = frozenset({"", "dumb", "unknown"})


def is_plain() -> bool:
    """True for a terminal that has neither colors nor a cursor that can be moved, as far as it says."""
    return os.environ.get("TERM", "").lower() in PLAIN


def breaks_lines_anew() -> bool:
    """True for a terminal whose long lines take more rows when it becomes narrower; few cut them off."""
    cuts = os.environ.get("XTERM_VERSION") or os.environ.get("TERM", "").startswith(("linux", "rxvt"))
    return not cuts


def is_colorless() -> bool:
    """True where no colors are wanted, or none can be shown."""
    return bool(os.environ.get("NO_COLOR")) or is_plain()


def harmless(text: str) -> str:
    """The text, of which others wrote some, with a box for each character that would steer a terminal."""
    return _STEERS.sub(lambda found: found[1] or "\ufffd", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text without line breaks, so that it cannot pass for a line of somebody else."""
    first, *rest = text.splitlines() or [""]
    return " ".join([first, *(line.strip() for line in rest)])


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """A harmless line for the person; the one way to the terminal for all verbs. Raises OSError."""
    click.echo(harmless(str(text)), err=err, nl=nl)  # noqa: TID251 - the one place


def rows_of(text: str, *, behind: int) -> list[str]:
    """The text in rows that fit behind so many columns; where it goes to no terminal, as it is."""
    if not sys.stdout.isatty():
        return [text]
    room = max(LEAST_COLUMNS, shutil.get_terminal_size().columns - behind)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
