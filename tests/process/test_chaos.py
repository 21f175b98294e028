"""`leadhand chaos`: under accidents of every kind nothing is lost and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("seed", "minutes"),
    [
        pytest.param(1, 0.1, id="smoke"),
        *(
            pytest.param(seed, 2, id=f"seed {seed}", marks=[pytest.mark.stress, pytest.mark.timeout(900)])
            for seed in (1, 2, 3)
        ),
    ],
)
@pytest.mark.timeout(240)
def test_every_task_is_done_once_and_every_message_delivered_once(
    tmp_path: Path, seed: int, minutes: float
) -> None:
    command = [sys.executable, "-P", "-m", "orchestrator.cli.main", "chaos", "--json"]
    ended = subprocess.run(
        [*command, "--seed", str(seed), "--minutes", str(minutes)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = json.loads(ended.stdout)
    assert counts["faults"] == [], counts
    assert ended.returncode == 0
    assert counts["tasks"]["completed"] > 0
    assert counts["mail"]["delivered"] > 0
    assert sum(counts["accidents"].values()) > 0
    assert counts["replay"] == f"leadhand chaos --seed {seed} --minutes {minutes:g}"
    assert list(Path(tmp_path).iterdir()) == [], "nothing of it is left"
