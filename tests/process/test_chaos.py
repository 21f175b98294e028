"""`leadhand chaos`: under accidents of every kind nothing is lost and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from coordination.clock import SystemClock
from coordination.events import EventTail
from orchestrator.chaos.schedule import Kind
from orchestrator.chaos.stage import Stage


@pytest.mark.parametrize(
    ("seed", "minutes"),
    [
        pytest.param(2, 0.1, id="smoke"),
        *(pytest.param(seed, 2, id=f"seed {seed}", marks=pytest.mark.stress) for seed in (1, 2, 3)),
    ],
)
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
    assert minutes < 1 or Kind.CLOCK_JUMPED in counts["accidents"]
    assert counts["replay"] == f"leadhand chaos --seed {seed} --minutes {minutes:g}"
    assert list(Path(tmp_path).iterdir()) == [], "nothing of it is left"


@pytest.mark.stress
def test_the_wall_clock_of_each_process_of_the_team_can_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stage, clock = Stage(), SystemClock()
    lead = stage.lead("run", "--tasks", str(stage.tasks_file("tasks.yaml", ["a", "b"])))
    while lead.ended() is None:
        for process in stage.workers():
            (stage.clocks / str(process.pid)).write_text("-86400", "ascii")
        clock.sleep(0.05)
    events = EventTail(stage.stores.team.directory).read_new()
    ends = {event["who"]: datetime.fromisoformat(event["at"]) for event in events}
    stage.close(keep=False)
    assert clock.now() - ends.pop("lead~1") < timedelta(hours=1)
    assert ends
    assert all(clock.now() - end > timedelta(hours=23) for end in ends.values())
