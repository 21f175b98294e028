"""Each measurement runs and counts right; how fast it was is for `make bench` to say."""

from __future__ import annotations

import json
import subprocess  # noqa: TID251 - the scripts are run as a person runs them
import sys
from pathlib import Path

import pytest

from coordination.clock import SystemClock
from coordination.process import processes_at

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "script",
    ["mailbox", "wakeup", "tasks", "startup", "loop", pytest.param("crash", marks=pytest.mark.stress)],
)
def test_a_measurement_runs_and_what_it_counts_is_right(script: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", f"bench.{script}", "--quick", "--dir", str(tmp_path)]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=230)
    assert "Traceback" not in run.stderr
    found = json.loads(run.stdout)
    assert found["faults"] == []


@pytest.mark.parametrize("begun", ["1/repository/.git", "1/repository/.team/team.json"])
def test_a_measurement_that_is_terminated_ends_and_leaves_nothing_running(tmp_path: Path, begun: str) -> None:
    command = [sys.executable, "-m", "bench.loop", "--quick", "--dir", str(tmp_path)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        clock, deadline = SystemClock(), SystemClock().monotonic() + 100
        while not any(tmp_path.glob(f".bench-*/{begun}")):
            assert clock.monotonic() < deadline
            clock.sleep(0.01)
        run.terminate()
        out, err = run.communicate(timeout=120)
    assert b"Traceback" not in err
    assert run.returncode == 143
    assert "medians" in json.loads(out)
    assert list(processes_at(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []
