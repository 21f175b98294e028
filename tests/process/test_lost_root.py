"""The team directory is taken away under a running team."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages


WORK = """
  - when: {tools_called: ^$}
    call: {bash: {command: '@WAIT@'}}
  - say: Done.
"""


def test_a_root_that_is_replaced_ends_lead_and_worker_with_one_line_and_stays_empty(staged: Stages) -> None:
    stage = staged(WORK)
    run = stage.start_tasks(SET_A, options=())
    stage.until("model_call", tools=["bash"])
    pid = stage.pid(stage.owner("set a"))
    moved = stage.root.rename(stage.place / "moved")
    stage.root.mkdir()
    ended = run.end()
    assert ended.code == 2
    assert "gone or was replaced" in ended.complaint
    stage.wait(lambda: not psutil.pid_exists(pid), "the end of the worker")
    assert not list(stage.root.iterdir())
    assert (moved / ".tasks").is_dir()
