from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from coordination.clock import CLOCKS_VARIABLE, SystemClock

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
