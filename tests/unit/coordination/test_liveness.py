"""Beats, and silence counted in looks."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import StateUnwritable
from coordination.liveness import Beat, BeatWatch, read_beat

if TYPE_CHECKING:
    from coordination.team_root import Team
    from tests.support.clock import FakeClock


@pytest.fixture
def watch(clock: FakeClock) -> BeatWatch:
    return BeatWatch(clock, lambda: 12)


def look_for(
    watch: BeatWatch, clock: FakeClock, seconds: float, *, every: float, beat: bytes = b"1"
) -> float:
    for _ in range(round(seconds / every)):
        clock.advance(every)
        silence = watch.look("alice~2", beat)
    return silence


def test_each_beat_differs_and_has_the_same_width(team: Team) -> None:
    beat, seen = Beat(team, "alice~2"), set()
    for count in range(12):
        beat.beat("task_00000001" if count % 2 else None, count or None)
        seen.add(read_beat(team, "alice~2"))
    assert len(seen) == 12
    assert {len(text or b"") for text in seen} == {64}


def test_a_beat_tells_people_task_and_token(team: Team) -> None:
    Beat(team, "alice~2").beat("task_00000001", 7)
    assert (read_beat(team, "alice~2") or b"").split() == [b"1", b"task_00000001", b"7"]


def test_no_beat_is_none(team: Team) -> None:
    assert read_beat(team, "alice~2") is None


def test_a_planted_pipe_is_no_beat_and_blocks_nobody(team: Team) -> None:
    os.mkfifo(team.root / layout.beat("alice~2"))
    assert read_beat(team, "alice~2") is None
    with pytest.raises(StateUnwritable):
        Beat(team, "alice~2").beat()


def test_an_unwritable_beat_is_told(team: Team) -> None:
    (team.root / layout.MEMBERS).rmdir()
    with pytest.raises(StateUnwritable):
        Beat(team, "alice~2").beat()


def test_a_beat_that_stands_still_for_a_ttl_of_looks_is_silent(watch: BeatWatch, clock: FakeClock) -> None:
    watch.look("alice~2", b"1")
    assert look_for(watch, clock, 10, every=2) == 10
    assert not watch.silent("alice~2")
    assert look_for(watch, clock, 2, every=2) == 12
    assert watch.silent("alice~2")


def test_a_beat_that_changes_ends_the_silence(watch: BeatWatch, clock: FakeClock) -> None:
    watch.look("alice~2", b"1")
    look_for(watch, clock, 20, every=2)
    assert watch.look("alice~2", b"2") == 0
    assert not watch.silent("alice~2")


def test_looks_in_quick_succession_count_once(watch: BeatWatch, clock: FakeClock) -> None:
    watch.look("alice~2", b"1")
    assert look_for(watch, clock, 1.9, every=0.1) == 0
    assert look_for(watch, clock, 0.2, every=0.1) == 2


def test_an_observer_that_slept_takes_nobody_for_dead(watch: BeatWatch, clock: FakeClock) -> None:
    watch.look("alice~2", b"1")
    clock.advance(3600)
    assert watch.look("alice~2", b"1") == 2
    assert not watch.silent("alice~2")


def test_a_missing_beat_is_silence_too(watch: BeatWatch, clock: FakeClock) -> None:
    for _ in range(7):
        watch.look("alice~2", None)
        clock.advance(2)
    assert watch.silent("alice~2")


def test_nothing_counts_while_the_own_beat_fails(watch: BeatWatch, clock: FakeClock) -> None:
    watch.look("alice~2", b"1")
    look_for(watch, clock, 4, every=2)
    watch.count_only(if_on_time=False)
    assert look_for(watch, clock, 60, every=2) == 4
    watch.count_only(if_on_time=True)
    assert watch.look("alice~2", b"1") == 4
    assert look_for(watch, clock, 2, every=2) == 6


def test_silence_is_counted_for_each_process(watch: BeatWatch, clock: FakeClock) -> None:
    watch.look("alice~2", b"1")
    look_for(watch, clock, 14, every=2)
    assert not watch.silent("alice~3")
    watch.forget("alice~2")
    assert not watch.silent("alice~2")


def test_a_real_ttl_is_reached_whatever_its_sixth_rounds_to(clock: FakeClock) -> None:
    for ttl in (0.7, 1.0, 15.0, 60.0):
        watch = BeatWatch(clock, partial(float, ttl))
        for _ in range(8):
            watch.look("alice~2", b"1")
            clock.advance(ttl / 6 + 1e-9)
        assert watch.silent("alice~2")


def test_a_ttl_that_grows_while_somebody_is_watched_counts_at_once(clock: FakeClock) -> None:
    ttl = 12.0
    watch = BeatWatch(clock, lambda: ttl)
    look_for(watch, clock, 12, every=2)
    ttl = 60.0
    watch.look("alice~2", b"1")
    assert not watch.silent("alice~2")
    look_for(watch, clock, 60, every=10)
    assert watch.silent("alice~2")
