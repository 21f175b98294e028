from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from coordination.clock import CLOCKS_VARIABLE, SystemClock, local

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_chaos_moves_the_wall_clock_of_one_process_and_no_other_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = SystemClock()
    monkeypatch.setenv(CLOCKS_VARIABLE, str(tmp_path))
    moved = SystemClock()
    for pid, hours in ((os.getppid(), 0), (os.getpid(), 1)):
        (tmp_path / str(pid)).write_text("3600", "ascii")
        apart = moved.now() - right.now()
        assert abs(apart - timedelta(hours=hours)) < timedelta(minutes=1)
    assert moved.monotonic() - right.monotonic() < 60
    (tmp_path / str(os.getpid())).write_text("", "ascii")  # it is just being set
    assert abs(moved.now() - right.now()) < timedelta(minutes=1)


def test_the_time_here_is_told_with_its_day_and_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert local(datetime(2026, 11, 30, 2, 18, tzinfo=UTC)) == "Monday 2026-11-30 03:18 CET (+0100)"
    finally:
        monkeypatch.undo()
        time.tzset()
