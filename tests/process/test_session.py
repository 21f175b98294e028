"""The interactive lead, driven through a pseudo-terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.ssh_server import SshServer
from tests.support.terminal import CTRL_C, CTRL_D, ENTER, Terminal
from tests.support.tmux import in_tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


TALKS = """
  - when: {last_user: 'second (?P<what>\\w+)'}
    say: 'You said ${what}.'
  - when: {last_user: 'tell a tale'}
    say: Once upon a time a lead had many hands and one of them told tales.
  - when: {last_user: 'think long'}
    delay_seconds: 60
    say: Too late.
  - when: {last_user: 'look around', tools_called: ^$}
    call: {read_file: {path: a.py}}
  - when: {tools_called: ^read_file$, last_result: 'a = 1'}
    say: a.py matters most.
  - say: I hear you.
"""

ONCE = r"(?s)^(?!.*you> and.*you> and).*"  # no earlier line of what is typed was left behind


@pytest.fixture
def stage(staged: Stages) -> Stage:
    return staged(TALKS)


@pytest.fixture
def seat(stage: Stage) -> Iterator[Callable[..., Terminal]]:
    """Sit down at a terminal of some kind, at which a session begins."""
    with ExitStack() as seats:

        def sit_down(**screen: Any) -> Terminal:
            terminal = Terminal.leadhand(cwd=stage.root, environment=stage.environment, **screen)
            seats.callback(terminal.close)
            return terminal

        yield sit_down


@pytest.fixture
def terminal(seat: Callable[..., Terminal]) -> Terminal:
    return seat()


def test_a_person_talks_looks_and_leaves(stage: Stage, terminal: Terminal) -> None:
    terminal.sees("Say what you want")
    terminal.types("look around")
    terminal.sees("a.py matters most")
    terminal.types("and a second thing")
    terminal.sees("You said thing")
    terminal.sees("lead waits for you")
    terminal.types("/status")
    terminal.sees("team directory")
    terminal.types("/nonsense")
    terminal.sees("there is no /nonsense here")
    terminal.types("/help")
    terminal.sees(r"repair:\n +doctor +whether a team can work here")
    assert "  demo  " not in terminal.text  # it leads a team of its own
    terminal.types("/quit")
    assert terminal.end() == 0, terminal.text
    assert [line["text"] for line in stage.journal("lead~1") if line["kind"] == "user"][
        -1
    ] == "and a second thing"
    stage.nobody_is_left()


def test_ctrl_c_cancels_the_turn_and_a_second_one_leaves(stage: Stage, terminal: Terminal) -> None:
    terminal.sees("you>")
    terminal.types("think long")
    terminal.sees("lead works")
    terminal.presses(CTRL_C)
    terminal.sees("the turn is cancelled")
    terminal.types("a second word")
    terminal.sees("You said word")
    terminal.presses(CTRL_C)
    terminal.presses(CTRL_C)
    assert terminal.end() == 0, terminal.text
    stage.nobody_is_left()


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_terminal_that_only_shows_characters_gets_nothing_else(
    stage: Stage, seat: Callable[..., Terminal], term: str | None
) -> None:
    terminal = seat(term=term, columns=60)
    terminal.sees("you>")
    terminal.presses(f"look around{ENTER}a sekond")  # goes on typing while the lead works
    terminal.sees(r"lead +a\.py matters most")
    terminal.sees(r"(?m)^you> a sekond$")
    terminal.types("\x7f" * 4 + "cond word")
    terminal.sees("You said word")
    terminal.types("half of it" + CTRL_C + "/quit")
    assert terminal.end() == 0, terminal.text
    assert b"\x1b" not in terminal.raw
    assert [line["text"] for line in stage.journal("lead~1") if line["kind"] == "user"][-1] == "a second word"


def test_words_of_the_lead_are_broken_between_words_and_not_begun_anew(seat: Callable[..., Terminal]) -> None:
    terminal = seat(columns=40)
    terminal.sees("you>")
    terminal.types("tell a tale")
    row = r"lead     Once upon a time a\n {18}lead had many hands\n {18}and one of them told\n {18}tales\."
    terminal.sees(row)
    terminal.types("/quit")
    assert terminal.end() == 0, terminal.text


def test_a_narrow_terminal_may_become_narrower_while_a_line_is_typed(seat: Callable[..., Terminal]) -> None:
    terminal = seat(columns=40)
    terminal.sees("you>")
    terminal.types("look around")
    terminal.sees("a.py matters most")
    terminal.presses("and a second thing that goes on and on")
    terminal.sees("goes on and\n on\n")
    terminal.becomes(columns=24)
    terminal.sees(ONCE + r"you> and a second thing ?\n ?that goes on and on\n.*\nlead waits for you\n*$")
    terminal.types("")
    terminal.sees("You sa\nid thing")
    terminal.types("/quit")
    assert terminal.end() == 0, terminal.text


def test_a_pipe_is_a_session_too(stage: Stage) -> None:
    session = f"{sys.executable} -P -m orchestrator.cli.main"
    command = ["sh", "-c", f"printf 'look around\nand a second thing\n' | {session}"]
    piped = Terminal(command, cwd=stage.root, environment=stage.environment)
    assert piped.end() == 0, piped.text
    piped.close()
    said = [line["text"] for line in stage.journal("lead~1") if line["kind"] == "user"]
    assert said == ["look around", "and a second thing"]  # be it in one turn or in two


def test_leaving_before_the_first_word_begins_nothing(stage: Stage, terminal: Terminal) -> None:
    terminal.sees("you>")
    terminal.presses(CTRL_D)
    assert terminal.end() == 0, terminal.text
    assert stage.stores.runs.all() == []


def test_a_session_in_tmux_is_one_at_a_terminal(stage: Stage) -> None:
    command = [sys.executable, "-P", "-m", "orchestrator.cli.main"]
    with ExitStack() as ends:
        within = ends.enter_context(in_tmux(command, stage.place))
        there = Terminal(within, cwd=stage.root, environment=stage.environment, columns=60)
        ends.callback(there.close)
        there.sees("you>")
        there.types("look around")
        there.sees("a.py matters most")
        there.presses("and a second thing that goes on and on")
        there.sees(r"(?m)^you> and a second thing that goes on and on$")
        there.becomes(columns=24)
        there.sees(ONCE + r"you> and a second thing ?\n ?that goes on and on\n.*\nlead waits for you\n*$")
        there.types("")
        there.sees("You sa\nid thing")
        there.types("/quit")
        assert there.end() == 0, there.text


def test_a_session_over_ssh_is_one_at_a_terminal(stage: Stage) -> None:
    with SshServer(stage.place / "ssh") as server:
        command = f"{sys.executable} -P -m orchestrator.cli.main"
        over_ssh = server.command(command, stage.root, stage.environment)
        with closing(Terminal(over_ssh, cwd=stage.place, environment=stage.environment)) as there:
            there.sees("you>")
            there.types("look around")
            there.sees("a.py matters most")
            there.sees("lead waits for you")
            there.types("/quit")
            assert there.end() == 0, there.text
