"""The interactive lead, driven through a pseudo-terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.terminal import CTRL_C, CTRL_D, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.process.conftest import Stages
    from tests.support.team_process import Stage

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

TALKS = """
  - when: {last_user: 'second (?P<what>\\w+)'}
    say: 'You said ${what}.'
  - when: {last_user: 'think long'}
    delay_seconds: 60
    say: Too late.
  - when: {last_user: 'look around', tools_called: ^$}
    call: {read_file: {path: a.py}}
  - when: {tools_called: ^read_file$, last_result: 'a = 1'}
    say: a.py matters most.
  - say: I hear you.
"""


def sits_down(stage: Stage, *arguments: str) -> Terminal:
    return Terminal.leadhand(*arguments, cwd=stage.root, environment=stage.environment)


@pytest.fixture
def stage(staged: Stages) -> Stage:
    return staged(TALKS)


@pytest.fixture
def terminal(stage: Stage) -> Iterator[Terminal]:
    terminal = sits_down(stage)
    yield terminal
    terminal.close()


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
    terminal.types("/quit")
    assert terminal.end() == 0, terminal.text
    assert [line["text"] for line in stage.journal("lead~1") if line["kind"] == "user"][
        -1
    ] == "and a second thing"
    assert stage.living() == []


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
    assert stage.living() == []


def test_a_pipe_is_a_session_too(stage: Stage) -> None:
    session = f"{sys.executable} -P -m orchestrator.cli.main"
    command = ["sh", "-c", f"printf 'look around\nand a second thing\n' | {session}"]
    piped = Terminal(command, cwd=stage.root, environment=stage.environment)
    assert piped.end() == 0, piped.text
    piped.close()
    assert "I hear you" in piped.text or "You said thing" in piped.text


def test_leaving_before_the_first_word_begins_nothing(stage: Stage, terminal: Terminal) -> None:
    terminal.sees("you>")
    terminal.presses(CTRL_D)
    assert terminal.end() == 0, terminal.text
    assert stage.stores.runs.all() == []
