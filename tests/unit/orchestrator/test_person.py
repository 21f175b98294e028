"""The person at the terminal of a lead: where their lines go, and what Ctrl-C does."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from orchestrator.interactive.glance import glance
from orchestrator.interactive.person import Person
from orchestrator.terminal.console import Console

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

pytestmark = pytest.mark.anyio


class Typed:
    """Satisfies `Lines`: what a test typed beforehand, then the end of input."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def shown(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def read(self) -> str | None:
        await anyio.lowlevel.checkpoint()
        return self._lines.pop(0) if self._lines else None


class Sitting:
    def __init__(self) -> None:
        self.commands: list[str] = []
        self.person = Person(Console(as_json=False), self._command)

    async def _command(self, line: str) -> bool:
        self.commands.append(line)
        return line != "quit"


@pytest.fixture
def sitting() -> Sitting:
    return Sitting()


async def test_words_are_for_the_lead_and_slashes_for_the_command_line(sitting: Sitting) -> None:
    await sitting.person.attend(Typed("do it", "", "/status", "/quit", "never read"), lambda: None)
    assert [item.text for item in await sitting.person.take()] == ["do it"]
    assert await sitting.person.take() == []
    assert sitting.commands == ["status", "quit"]
    assert sitting.person.has_left


async def test_an_answer_is_not_said_to_the_lead(sitting: Sitting) -> None:
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await sitting.person.ask("start this team?"))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        await sitting.person.attend(Typed("yes"), lambda: None)
    assert answers == ["yes"]
    assert await sitting.person.take() == []
    assert await sitting.person.ask("once more?") == ""  # nobody is there any more


async def test_ctrl_c_cancels_a_question_first_and_then_the_session(sitting: Sitting) -> None:
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await sitting.person.ask("start this team?"))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        assert sitting.person.interrupt()
    assert answers == [""]
    assert not sitting.person.interrupt()
    assert sitting.person.has_left


async def test_a_cancelled_turn_ends_and_the_next_one_is_whole(sitting: Sitting) -> None:
    done: list[str] = []

    async def long() -> None:
        sitting.person.interrupt()
        await anyio.sleep_forever()

    async def short() -> None:
        await anyio.lowlevel.checkpoint()
        done.append("short")

    await sitting.person.in_turn(long)
    assert sitting.person.is_waiting
    await sitting.person.in_turn(short)
    assert done == ["short"]


async def test_the_status_line_says_who_does_what() -> None:
    member = {"state": "alive", "task": None, "waiting_on": None}
    facts = {
        "tasks": [{"id": "task_1", "subject": "set\x1b a", "status": "in_progress"}],
        "members": [
            {**member, "name": "ann", "task": "task_1"},
            {**member, "name": "bob"},
            {**member, "name": "cem", "waiting_on": "an answer"},
            {**member, "name": "gone", "state": "closed"},
        ],
        "questions": [1],
        "lead": "works",
        "calls": {"lead": [], "ann": ["bash"]},
        "paused": {"at": "now"},
    }
    assert glance(facts, columns=200) == (
        "lead works | 1 open question | paused | 0/1 tasks done"
        " | ann: set a (bash) | bob: idle | cem: waits for an answer"
    )
    assert glance(facts, columns=100) == (
        "lead works | 1 open question | paused | 0/1 tasks done | ann: set a (… | bob: idle | cem: waits f…"
    )
    assert glance(facts, columns=50) == "lead works | 1 open question | paused | 0/1 task…"
