"""`leadhand fsck` after real runs: whole after ordinary ends and kills, or made whole by its repair."""

from __future__ import annotations

import json
import os
import signal
import subprocess  # noqa: TID251 - a process that poses as a teammate
import sys
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.stores import Stores, open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.team_root import create_team
from orchestrator.inspection.host_findings import inspect_processes, inspect_trees
from orchestrator.launchers.local import TEAMMATE
from tests.process.test_lost_teams import WORK
from tests.support.people import comes_alive
from tests.support.repository import Repository
from tests.support.team_process import SET_A
from workspace.git import Git
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.conftest import Stages
    from tests.support.clock import FakeClock
    from tests.support.team_process import Stage


def found(stage: Stage, *options: str, code: int = 0) -> list[dict[str, Any]]:
    """What fsck found and did not mend, notes apart."""
    ended = stage.leadhand("fsck", "--json", *options)
    assert ended.code == code, ended
    rows: list[dict[str, Any]] = json.loads(ended.out)
    return [row for row in rows if row["severity"] != "note" and not row["repaired"]]


def test_a_run_that_lost_a_worker_leaves_everything_whole(staged: Stages) -> None:
    stage = staged(WORK)
    run = stage.start_tasks(SET_A, workers=2)
    stage.until("model_call", tools=["bash"])
    stage.wait((stage.root / str(stage.task("set a").worktree) / "half.txt").exists)
    assert found(stage) == []
    os.kill(stage.pid(stage.owner("set a")), signal.SIGKILL)
    ended = run.end()
    assert ended.code == 0, ended
    assert found(stage) == []


def test_after_a_kill_of_everybody_repair_makes_the_team_whole(staged: Stages) -> None:
    stage = staged(WORK)
    run = stage.start_tasks(SET_A)
    stage.until("model_call", tools=["bash"])
    os.kill(stage.pid(stage.owner("set a")), signal.SIGKILL)
    run.signal(signal.SIGKILL).end()
    assert "member_dead" in [row["code"] for row in found(stage, code=1)]
    assert found(stage, "--repair") == []
    assert found(stage) == []
    assert stage.history("set a").count("reclaim") == 1
    stage.let_go()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "project", {"a.py": "a = 1\n"})


@pytest.fixture
def stores(repository: Repository, clock: FakeClock) -> Stores:
    team = create_team(repository.path, repository.path, clock=clock)
    return open_stores(team, "person")


def test_a_process_that_is_on_no_roster_is_an_orphan(stores: Stores, clock: FakeClock) -> None:
    root, wait = str(stores.team.root), "import sys; sys.stdin.read()"
    command = [sys.executable, "-c", wait, "-m", TEAMMATE, "--team", root, "--name", "bob"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert list(inspect_processes(stores)) == [], "it may be on its way onto the roster"
        clock.advance(10**9)
        (orphan,) = inspect_processes(stores)
        assert (orphan.code, orphan.where) == ("orphan_process", f"process {process.pid}")
        process.kill()


def test_the_tree_of_a_task_in_progress_is_the_one_bound_to_it(
    stores: Stores, repository: Repository
) -> None:
    alice = comes_alive(stores.team, "alice")
    (task,) = stores.tasks.create([TaskDraft(subject="A")])
    stores.tasks.publish([task.id])
    task = stores.tasks.claim(task.id, Claimant(name="alice", incarnation=alice.incarnation or 0))
    name = f"{task.id}-{task.token}"
    tree = Worktrees(Git(repository.path), repository.path).create(name, base=repository.head())
    stores.tasks.bind(task.id, task.token or 0, worktree=f"{layout.WORKTREES}/{name}", base=repository.head())
    assert list(inspect_trees(stores)) == []
    repository.git("checkout", "-q", "-b", "other", at=tree)
    (broken,) = inspect_trees(stores)
    assert broken.code == "tree_broken"
    assert "branch other" in broken.what
    stores.tasks.reclaim(task.id, task.token or 0, "alice is dead")
    for holder in (Claimant(name="bob", incarnation=2), Claimant(name="bob", incarnation=4)):
        if holder.incarnation == 2:
            stores.tasks.claim(task.id, holder)
        else:
            stores.tasks.resume(task.id, holder, died=True)
        assert list(inspect_trees(stores)) == [], "his own is not made yet"
