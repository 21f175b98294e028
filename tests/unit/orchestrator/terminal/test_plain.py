"""What others wrote cannot steer the terminal of whoever reads it."""

from __future__ import annotations

import click
import pytest

from orchestrator.terminal.plain import harmless, one_line


@pytest.mark.parametrize(
    "steering",
    [
        "\x1b[2J",  # clears the screen
        "\x1b[8m",  # hides what follows
        "\x1b[37;47m",  # white on white
        "\x1b]0;title\x07",
        "\x1b]52;c;aGk=\x07",  # fills the clipboard
        "\x9b2J",  # the same in one character
        "\x90q\x9c",
        "\r",  # writes over what stands there
        "\b",
        "\x7f",
        "\u202e",  # turns the direction of reading
        "\u2066",
    ],
)
def test_nothing_that_steers_gets_through(steering: str) -> None:
    shown = harmless(f"rm{steering} a.py")
    assert "\ufffd" in shown
    assert not {*shown} & {*"\x1b\x07\x7f\x90\x9b\x9c\r\b\u202e\u2066"}


def test_own_colors_lines_tabs_and_all_letters_get_through() -> None:
    own = click.style("leads", fg="bright_cyan", bold=True) + click.style("12:00", dim=True)
    text = f"{own}\tä €\n漢字 👩‍💻"
    assert harmless(text) == text
    assert harmless("a\r\nb") == "a\nb"


@pytest.mark.parametrize("text", ["a\n  b", "a\r\n  b", "a\u2028b", "a\x0bb", "a\n b\n"])
def test_one_line_is_one(text: str) -> None:
    assert one_line(text) == "a b"
