"""What processes do that stop themselves (SIGSTOP) inside a commit; importable by a spawned one."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import TeamError
from coordination.locks import CourtesyLock
from coordination.records import Plan, Task, TaskResult
from coordination.roster import Roster
from coordination.stores import Stores, open_stores
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import open_team
from tests.support.freezing import FreezingDirectory, freezing

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue


def _arm(stores: Stores, task: Task) -> None:
    directory = stores.team.directory
    assert isinstance(directory, FreezingDirectory)
    directory.armed = layout.task_log(task.id)


SECTIONS: dict[str, Callable[[Stores, Task], object]] = {
    "bind": lambda stores, task: stores.tasks.bind(
        task.id, task.token or 0, worktree=".worktrees/a", base="b"
    ),
    "plan": lambda stores, task: stores.tasks.submit_plan(
        task.id, task.token or 0, Plan(number=1, digest="d", request="req_00000001")
    ),
    "refuse": lambda stores, task: stores.tasks.refuse(task.id, task.token or 0, TaskResult()),
    "release": lambda stores, task: stores.tasks.release(task.id, task.token or 0, "stop"),
    "complete": lambda stores, task: stores.tasks.complete(
        task.id, task.token or 0, commit="c", branch="b", result=TaskResult()
    ),
}


class StopsInside(CourtesyLock):
    """A lock whose holder stands still as soon as it has it."""

    def _acquire(self) -> bool:
        got = super()._acquire()
        os.kill(os.getpid(), signal.SIGSTOP)
        return got


def repairs_and_freezes(root: str) -> None:
    """Stop under the lock of the tasks directory, before the repair that it was taken for."""
    team = open_team(Path(root))
    lock = StopsInside(team.root / layout.TASKS_LOCK, team.clock)
    TaskStore(team, "person", lock=lock).repair(everything=True)


def claimant(stores: Stores) -> Claimant:
    bearer = layout.split_bearer(stores.actor)
    assert bearer
    return Claimant(name=bearer[0], incarnation=bearer[1])


def holds_and_freezes(root: str, name: str, task_id: str, section: str, reports: Queue[Any]) -> None:
    """Be that member, claim the task, stop between check and link of the section, report what came of it."""
    team = freezing(open_team(Path(root)), "", lambda: os.kill(os.getpid(), signal.SIGSTOP))
    roster = Roster(team, name)
    member = roster.come_alive(name, roster.start(name).spawn_id)
    stores = open_stores(team, member.bearer)
    task = stores.tasks.claim(task_id, claimant(stores))
    _arm(stores, task)
    try:
        SECTIONS[section](stores, task)
    except TeamError as error:
        reports.put((section, error.reason))
    else:
        reports.put((section, "committed"))
