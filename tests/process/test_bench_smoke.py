"""Each measurement runs and counts right; how fast it was is for `make bench` to say."""

from __future__ import annotations

import json
import subprocess  # noqa: TID251 - the scripts are run as a person runs them
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(240)
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
