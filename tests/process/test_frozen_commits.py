"""Holders that are stopped inside a commit, observers of another pid namespace, and clocks that jump."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess  # noqa: TID251 - a process in a pid namespace of its own
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.clock import SystemClock
from coordination.fsck.fsck import inspect
from coordination.liveness import LOOKS_PER_TTL
from coordination.locks import CourtesyLock
from coordination.process import is_stopped, known_dead, this_process
from coordination.records import Status, TaskResult
from coordination.sweep import Sweep
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.team_root import create_team
from tests.support.freezers import SECTIONS, holds_and_freezes, repairs_and_freezes
from tests.support.people import comes_alive, leads, stores_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.records import Task
    from coordination.stores import Stores


SPAWN = multiprocessing.get_context("spawn")
TTL = 1.2
PATIENCE_SECONDS = 60.0
LIVES = """
import sys
from pathlib import Path
from coordination import layout
from coordination.liveness import Beat
from coordination.clock import SystemClock
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import open_team
from coordination.roster import Roster
team = open_team(Path(sys.argv[1]))
roster = Roster(team, "alice")
alice = roster.come_alive("alice", roster.start("alice").spawn_id)
TaskStore(team, "alice~2").claim(sys.argv[2], Claimant(name="alice", incarnation=2))
beat = Beat(team, "alice~2")
while True:
    beat.beat()
    SystemClock().sleep(0.05)
"""


@pytest.fixture
def lead(tmp_path: Path) -> Stores:
    return leads(create_team(tmp_path, tmp_path))


def ready(lead: Stores, count: int) -> list[Task]:
    tasks = lead.tasks.create([TaskDraft(subject=f"task {number}") for number in range(count)])
    return lead.tasks.publish(task.id for task in tasks)


def until(condition: Callable[[], bool], *, each: Callable[[], object] = lambda: None) -> None:
    clock, deadline = SystemClock(), SystemClock().monotonic() + PATIENCE_SECONDS
    while not condition():
        assert clock.monotonic() < deadline, "it did not happen in time"
        each()
        clock.sleep(0.02)


def test_a_holder_frozen_in_any_commit_past_its_lease_is_refused_when_it_wakes(lead: Stores) -> None:
    reports = SPAWN.Queue()
    tasks = dict(zip(SECTIONS, ready(lead, len(SECTIONS)), strict=True))
    holders = [
        SPAWN.Process(
            target=holds_and_freezes,
            args=(str(lead.team.root), f"frozen-{section}", task.id, section, reports),
        )
        for section, task in tasks.items()
    ]
    for holder in holders:
        holder.start()
    until(lambda: all(is_stopped(holder.pid or 0) for holder in holders))
    sweep = Sweep(lead, ttl=lambda: TTL)
    until(
        lambda: all(lead.tasks.get(task.id).status is Status.PENDING for task in tasks.values()),
        each=sweep.look,
    )
    for holder in holders:
        os.kill(holder.pid or 0, signal.SIGCONT)
    outcomes = dict(reports.get(timeout=PATIENCE_SECONDS) for _ in holders)
    for holder in holders:
        holder.join()
        holder.close()
    assert set(outcomes.values()) == {"stale_token"}, outcomes
    assert {version.event for task in tasks.values() for _, version in lead.tasks.history(task.id)} == {
        "create",
        "publish",
        "claim",
        "reclaim",
    }


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root makes a pid namespace"
)
def test_what_runs_in_another_pid_namespace_of_the_same_boot_is_judged_by_its_beat_alone(
    lead: Stores,
) -> None:
    (task,) = ready(lead, 1)
    ttl = 2 * TTL  # on a busy machine it beats late
    sweep, clock = Sweep(lead, ttl=lambda: ttl), SystemClock()
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", LIVES]
    with subprocess.Popen([*command, str(lead.team.root), task.id], cwd=Path.cwd()) as process:
        until(lambda: lead.tasks.get(task.id).status is Status.IN_PROGRESS)
        alice = lead.roster.member("alice")
        assert alice
        assert alice.process
        assert (alice.process.boot, alice.process.host) == (this_process().boot, this_process().host)
        assert not known_dead(alice.process)
        began = clock.monotonic()
        until(lambda: clock.monotonic() - began > ttl * 1.5, each=sweep.look)
        assert lead.tasks.get(task.id).status is Status.IN_PROGRESS
        process.kill()
        process.wait()
    died = clock.monotonic()
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.IN_PROGRESS
    until(lambda: lead.tasks.get(task.id).status is Status.PENDING, each=sweep.look)
    assert clock.monotonic() - died > ttl * (LOOKS_PER_TTL - 2) / LOOKS_PER_TTL


def test_an_observer_that_starts_anew_still_takes_the_task_of_a_silent_holder_back(lead: Stores) -> None:
    (task,) = ready(lead, 1)
    reports = SPAWN.Queue()
    holder = SPAWN.Process(
        target=holds_and_freezes, args=(str(lead.team.root), "alice", task.id, "bind", reports)
    )
    holder.start()
    until(lambda: is_stopped(holder.pid or 0))
    Sweep(lead, ttl=lambda: TTL).look()
    again = Sweep(lead.again(), ttl=lambda: TTL)
    until(lambda: lead.tasks.get(task.id).status is Status.PENDING, each=again.look)
    holder.kill()
    holder.join()
    holder.close()


def test_s10_the_lock_of_a_killed_process_goes_to_the_next_without_a_person(lead: Stores) -> None:
    first, _ = ready(lead, 2)
    path, clock = lead.team.root / layout.TASKS_LOCK, SystemClock()
    holder = SPAWN.Process(target=repairs_and_freezes, args=(str(lead.team.root),))
    holder.start()
    until(lambda: is_stopped(holder.pid or 0))
    with CourtesyLock(path, clock).held() as got:
        assert not got
    holder.kill()
    holder.join()
    holder.close()
    with CourtesyLock(path, clock).held() as got:  # within WAIT_SECONDS, or it would go on without
        assert got
    alice = stores_of(lead.team, comes_alive(lead.team, "alice"))
    token = alice.tasks.claim(first.id, Claimant(name="alice", incarnation=2)).token or 0
    alice.tasks.complete(first.id, token, commit="c", branch="b", result=TaskResult())
    lead.tasks.repair(everything=True)
    assert [finding for finding in inspect(lead) if finding.counts] == []
