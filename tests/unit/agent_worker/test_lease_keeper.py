"""The beat of a teammate goes on exactly while its loop gets on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agent_worker.lease_keeper import LeaseKeeper
from coordination import layout
from coordination.liveness import Beat, read_beat

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

PATIENCE = 300.0
ME = "alice~2"


class Rounds(threading.Event):
    """Instead of waiting, lets so many rounds pass; before each, something may happen."""

    def __init__(self, rounds: int, before_each: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self._left = rounds
        self._before_each = before_each

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout
        self._left -= 1
        self._before_each()
        return self._left < 0


def keeper(team: Team, *, is_held: Callable[[str, int], bool] = lambda _, __: True) -> LeaseKeeper:
    return LeaseKeeper(
        Beat(team, ME), team.clock, ttl=lambda: 0.06, progress_timeout_seconds=PATIENCE, is_held=is_held
    )


def passes(keeps: LeaseKeeper, rounds: int, before_each: Callable[[], object] = lambda: None) -> None:
    """The thread's work for so many rounds, done here and now."""
    keeps._stop = Rounds(rounds, before_each)
    keeps._keep()


def count(team: Team) -> int:
    return int((read_beat(team, ME) or b"0").split()[0])


def test_it_beats_once_a_round(team: Team) -> None:
    passes(keeper(team), 5)
    assert count(team) == 5


def test_it_stops_beating_when_no_checkpoint_came_within_the_patience(team: Team, clock: FakeClock) -> None:
    keeps = keeper(team)
    passes(keeps, 10, lambda: clock.advance(PATIENCE / 4))
    assert count(team) == 3


def test_a_checkpoint_lets_it_beat_again(team: Team, clock: FakeClock) -> None:
    keeps = keeper(team)
    clock.advance(PATIENCE)
    passes(keeps, 2)
    assert count(team) == 0
    keeps.checkpoint()
    passes(keeps, 2)
    assert count(team) == 2


def test_a_loop_that_gets_on_is_never_taken_for_hung(team: Team, clock: FakeClock) -> None:
    keeps = keeper(team)

    def goes_on() -> None:
        clock.advance(PATIENCE - 1)
        keeps.checkpoint()

    passes(keeps, 10, goes_on)
    assert count(team) == 10


def test_taking_a_task_is_seen_at_once_and_is_progress(team: Team, clock: FakeClock) -> None:
    keeps = keeper(team)
    clock.advance(2 * PATIENCE)
    keeps.holds("task_00000001", 5)
    assert (read_beat(team, ME) or b"").split() == [b"1", b"task_00000001", b"5"]
    passes(keeps, 1)
    assert count(team) == 2


def test_a_beat_that_cannot_be_written_ends_nothing(team: Team) -> None:
    (team.root / layout.beat(ME)).mkdir(parents=True)
    keeps = keeper(team)
    passes(keeps, 3)
    (team.root / layout.beat(ME)).rmdir()
    passes(keeps, 1)
    assert count(team) > 0


def test_the_thread_beats_from_its_start_to_its_close(team: Team) -> None:
    keeps = keeper(team)
    keeps.start()
    assert count(team) >= 1
    keeps.close()
    assert not keeps._thread.is_alive()
