"""A team whose board has one task for the teammate that is measured."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.wakeup import beating
from coordination import layout
from coordination.leadership import Leadership
from coordination.liveness import Beat
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.team_root import open_team

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.team_process import Stage


@contextmanager
def one_task(stage: Stage) -> Iterator[None]:
    """A lead that only beats has put the task up; nobody else is there."""
    stage.init()
    team = open_team(stage.root)
    bearer = layout.bearer("lead", Leadership(team).take())
    lead = open_stores(team, bearer)
    run = lead.runs.open("measure", base=stage.person.head(), checks={})
    run = lead.runs.update(run.id, branch=f"leadhand/{run.id}")
    (task,) = lead.tasks.create([TaskDraft(subject="begin", run=run.id)])
    lead.tasks.publish([task.id])
    with beating(Beat(team, bearer).beat):
        yield
