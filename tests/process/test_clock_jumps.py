"""A wall clock that is really set, in the middle of the work: nothing is decided by it."""

from __future__ import annotations

import json
import shutil
import subprocess  # noqa: TID251 - a compiler
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.liveness import LOOKS_PER_TTL, read_beat
from coordination.team_root import open_team

if TYPE_CHECKING:
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="a clock of one process alone is set by a preloaded library, which a C compiler makes",
)

SOURCE = Path(__file__).parents[1] / "support" / "jumping_clock.c"
HOUR = 3600
CAROL, LEAD = "carol~2", "lead~1"
TTL = "3"
PATIENT = """
  - when: {last_user: set a, tools_called: ^$}
    call: {bash: {command: 'echo a = 2 > a.py; until [ -e @PLACE@/1 ]; do sleep 0.05; done'}}
  - when: {tools_called: ^$}
    call: {bash: {command: 'until [ -e @PLACE@/2 ]; do sleep 0.05; done'}}
  - when: {tools_called: bash$}
    call: {send_message: {to: lead, content: I am nearly done.}}
  - when: {tools_called: bash send_message$}
    call: {complete_task: {summary: it is as it should be}}
  - say: Done.
"""
TASKS = (
    {"key": "a", "subject": "set a", "checks": ["done"]},
    {"key": "b", "subject": "go on", "checks": ["done"], "needs": ["a"]},
)


def with_clocks(staged: Stages, place: Path) -> Stage:
    library = place / "jumping_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True)
    return staged(PATIENT, LEADHAND_LEASE_TTL_SECONDS=TTL, LD_PRELOAD=str(library), JUMPING_CLOCKS=str(place))


def let_all_look(stage: Stage) -> None:
    """Both beat so often that each would have acted on a silence of the other."""
    team = open_team(stage.root)
    for _ in range(LOOKS_PER_TTL + 2):
        before = [read_beat(team, bearer) for bearer in (CAROL, LEAD)]
        stage.wait(
            lambda before=before: all(
                read_beat(team, bearer) != beat for bearer, beat in zip((CAROL, LEAD), before, strict=True)
            ),
            "a beat",
        )


def jumps(stage: Stage, bearer: str) -> list[float]:
    """How far the times of successive events of the process lie apart, where that is far."""
    times = [datetime.fromisoformat(event["at"]) for event in told(stage, bearer)]
    apart = [(after - before).total_seconds() for before, after in pairwise(times)]
    return [round(seconds / HOUR) for seconds in apart if abs(seconds) > HOUR / 2]


def told(stage: Stage, bearer: str) -> list[dict[str, str]]:
    lines = (stage.root / layout.events(bearer)).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


@pytest.mark.parametrize("whose", ["teammate", pytest.param("lead", marks=pytest.mark.stress)])
def test_a_clock_that_jumps_an_hour_forth_and_back_changes_nothing(
    staged: Stages, tmp_path: Path, whose: str
) -> None:
    stage, clock = with_clocks(staged, tmp_path), tmp_path / whose
    stage.init()
    by_hand = stage.start("worker", "--name", "carol")
    stage.until("alive", who=CAROL)
    run, texts = stage.start_tasks(*TASKS), list[str]()
    for number, seconds in enumerate((HOUR, -HOUR), start=1):
        stage.wait(
            lambda number=number: len(stage.events("model_call", tools=["bash"])) == number, "the work"
        )
        clock.write_text(str(seconds))
        let_all_look(stage)
        texts.append(f"the clock went by {seconds}")
        assert stage.leadhand("send", "carol", texts[-1]).code == 0
        (tmp_path / str(number)).touch()
    ended = run.end()
    assert ended.code == 0, ended
    assert jumps(stage, CAROL if whose == "teammate" else LEAD) == [1, -2]
    assert by_hand.end().code == 0
    assert not stage.events("member_lost")
    for task in stage.stores.tasks.all():
        assert (task.attempts, stage.history(task.subject)[2:]) == (0, ["claim", "bind", "complete", "merge"])
    received = [line["message"]["content"] for line in stage.journal(CAROL) if line["kind"] == "mail"]
    assert received == texts
    report = json.loads((stage.root / layout.report(task.run or "")).read_text("utf-8"))
    assert report["usage"]["carol"]["calls"] == len(stage.events("model_call", who=CAROL))
    steps = [step["event"] for step in report["steps"] if step["task"] == task.id]
    assert steps == ["claim", "complete", "merge"]
    assert stage.leadhand("fsck").code == 0
