"""A lead that is killed at any step of a spawn leaves no ghost, and the next lead finishes the run."""

from __future__ import annotations

import json
import signal
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from coordination.records import Status
from coordination.roster import GONE
from tests.process.test_life_cycle import SETS_A
from tests.support.team_process import PATIENCE_SECONDS, SET_A, Stage

PROJECT = Path(__file__).resolve().parents[2]


def is_killed_at(stage: Stage, step: int) -> bool:
    """A lead is started and killed in front of that step of its first spawn; False when it had fewer."""
    stage.init()
    tasks = stage.place / "tasks.yaml"
    tasks.write_text(json.dumps([SET_A]), encoding="utf-8")
    arguments = [str(step), "run", "--tasks", str(tasks), "--workers", "2", "--json"]
    lead = subprocess.run(
        [sys.executable, "-P", "-m", "tests.support.dying_lead", *arguments],
        cwd=stage.root,
        env={**stage.environment, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert lead.returncode in {0, -signal.SIGKILL}, lead
    return lead.returncode != 0


def finishes(stage: Stage) -> None:
    """The next lead does the work once, and of the first one nobody is left."""
    resumed = stage.leadhand("resume", "--yes", "--json")
    assert resumed.code == 0, resumed
    assert stage.task("set a").status is Status.COMPLETED
    assert stage.history("set a").count("complete") == 1
    stage.nobody_is_left()
    assert {member.state for member in stage.stores.roster.all()} <= GONE
    assert "Traceback" not in "".join(log.read_text() for log in (stage.root / ".team/logs").glob("*.log"))


@pytest.mark.parametrize("step", [26, 34])
def test_a_lead_may_be_killed_at_any_step_of_a_spawn(tmp_path: Path, step: int) -> None:
    """In front of the hint of the task, and of what a started process is given."""
    with closing(Stage(tmp_path, SETS_A)) as stage:
        assert is_killed_at(stage, step)
        finishes(stage)


@pytest.mark.stress
def test_a_lead_may_be_killed_at_every_step_of_a_spawn(tmp_path: Path) -> None:
    for step in count():
        with closing(Stage(tmp_path / str(step), SETS_A)) as stage:
            if not is_killed_at(stage, step):
                break
            finishes(stage)
    assert step > 34
