"""When a member that died is started again: a table of lives."""

from __future__ import annotations

from orchestrator.restarts import STEADY_SECONDS, Restarts
from tests.support.clock import FakeClock


def test_the_delays_grow_from_none_and_end() -> None:
    restarts = Restarts(FakeClock(), most=4)
    restarts.began("ann")
    assert [restarts.died("ann") for _ in range(6)] == [0, 1, 2, 4, None, None]
    assert Restarts(FakeClock(), most=0).died("ann") is None


def test_each_member_has_delays_of_its_own() -> None:
    restarts = Restarts(FakeClock(), most=4)
    restarts.began("ann")
    assert (restarts.died("ann"), restarts.died("bob"), restarts.died("ann")) == (0, 0, 1)


def test_a_restart_is_due_once_and_when_its_delay_is_over() -> None:
    clock = FakeClock()
    restarts = Restarts(clock, most=4)
    restarts.died("ann")
    assert restarts.take_due() == ["ann"]
    restarts.began("ann")
    restarts.died("ann")
    assert restarts.take_due() == []
    clock.advance(1)
    assert restarts.take_due() == ["ann"]
    assert restarts.take_due() == []


def test_a_long_life_begins_the_count_anew() -> None:
    clock = FakeClock()
    restarts = Restarts(clock, most=2)
    for _ in range(2):
        restarts.began("ann")
        restarts.died("ann")
    restarts.began("ann")
    clock.advance(STEADY_SECONDS)
    assert restarts.died("ann") == 0
