"""The accidents of a seed."""

from __future__ import annotations

from itertools import pairwise

from orchestrator.chaos.schedule import GAP_SECONDS, Kind, schedule


def test_the_same_seed_draws_the_same_accidents_and_a_longer_time_begins_alike() -> None:
    short, long = schedule(7, 60), schedule(7, 600)
    assert long[: len(short)] == short
    assert schedule(8, 60) != short


def test_accidents_come_apart_within_the_time_and_none_is_left_out_for_ever() -> None:
    drawn = schedule(1, 600)
    gaps = [after.at_seconds - before.at_seconds for before, after in pairwise(drawn)]
    assert GAP_SECONDS[0] <= min(gaps) <= max(gaps) <= GAP_SECONDS[1]
    assert drawn[-1].at_seconds < 600
    assert {accident.kind for accident in drawn} == set(Kind)
