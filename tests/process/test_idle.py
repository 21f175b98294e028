"""A team that has nothing to do: no model call, and next to no work for the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

from coordination import layout
from coordination.clock import SystemClock
from coordination.records import MemberState
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


HEARS = "  - say: I hear you."
SHARE = 0.02  # of one core, for all of them together (the number)
LOOKS = 3
LEAD_WAKES, MEMBER_WAKES = 13, 3  # a second; two thirds of them when this was measured


@pytest.fixture
def stage(staged: Stages) -> Stage:
    made = staged(HEARS)
    del made.environment["LEADHAND_LEASE_TTL_SECONDS"]  # the pace of a real team
    return made


@pytest.fixture
def terminal(stage: Stage) -> Iterator[Terminal]:
    made = Terminal.leadhand(cwd=stage.root, environment=stage.environment)
    yield made
    made.close()


def sit_idle(stage: Stage, terminal: Terminal, workers: int) -> list[psutil.Process]:
    """The processes of a lead that was spoken to once and of so many teammates, all of them idle."""
    terminal.sees("you>")
    terminal.types("wait for me")
    terminal.sees("I hear you")
    for number in range(workers):
        stage.start("worker", "--name", f"w{number}")
        stage.wait(lambda number=number: len(stage.events("alive")) > number, f"w{number}")
    after_looks(stage, LOOKS)
    members = [member.process.pid for member in stage.stores.roster.all() if member.process]
    assert len(members) == workers
    return [psutil.Process(pid) for pid in (terminal.process.pid, *members)]


def after_looks(stage: Stage, looks: int) -> None:
    """Everybody has beaten so often."""
    later = slowest(stage) + looks
    stage.wait(lambda: slowest(stage) >= later, f"{looks} looks of everybody")


def slowest(stage: Stage) -> int:
    beats = (stage.root / layout.MEMBERS).glob("*.beat")
    return min(int((beat.read_bytes().split() or [0])[0]) for beat in beats)  # one may be just begun


def cpu_seconds(processes: list[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes]
    return sum(time.user + time.system + time.children_user + time.children_system for time in times)


def leave(stage: Stage, terminal: Terminal) -> None:
    terminal.types("/quit")
    assert terminal.end() == 0, terminal.text
    stage.nobody_is_left()
    assert {member.state for member in stage.stores.roster.all()} == {MemberState.CLOSED}


def awakenings(process: psutil.Process) -> int:
    """How often its event loop has waited for something and gone on: hardly a matter of the load."""
    return process.num_ctx_switches().voluntary


def test_idle_members_call_no_model_and_sleep(stage: Stage, terminal: Terminal) -> None:
    processes = sit_idle(stage, terminal, 2)
    calls, clock = len(stage.events("model_call")), SystemClock()
    before, begun = [awakenings(process) for process in processes], clock.monotonic()
    after_looks(stage, LOOKS)
    seconds = clock.monotonic() - begun
    woken = [(awakenings(process) - had) / seconds for process, had in zip(processes, before, strict=True)]
    assert len(stage.events("model_call")) == calls == 1
    assert woken[0] < LEAD_WAKES, woken
    assert max(woken[1:]) < MEMBER_WAKES, woken
    leave(stage, terminal)


@pytest.mark.stress
def test_eight_idle_members_and_a_lead_rest_for_ten_minutes(stage: Stage, terminal: Terminal) -> None:
    processes = sit_idle(stage, terminal, 8)
    calls, before, clock = len(stage.events("model_call")), cpu_seconds(processes), SystemClock()
    begun = clock.monotonic()
    stage.pause(600)
    share = (cpu_seconds(processes) - before) / (clock.monotonic() - begun)
    assert len(stage.events("model_call")) == calls == 1
    assert share < SHARE, f"{share:.1%} of a core"
    leave(stage, terminal)
