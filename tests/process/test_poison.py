"""A task that kills whoever works on it is not handed round for ever."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from coordination.records import MemberState, Status
from coordination.roster import Roster
from coordination.stores import open_stores
from coordination.sweep import Sweep
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import create_team, open_team
from tests.support.people import leads

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.process.test_poison"])


def take_and_wait(root: str, name: str, died: bool, say: Connection[str, str]) -> None:  # noqa: FBT001 - of a process
    """Join under the name, take a task, or the one that the name had, and do nothing more."""
    team = open_team(Path(root))
    roster = Roster(team, name)
    before = roster.member(name)
    if before is None or before.state is MemberState.CLOSED:
        member = roster.come_alive(name, roster.start(name).spawn_id)
    else:
        member = roster.restart(name)
    me = Claimant(name=name, incarnation=member.incarnation or 0)
    store = TaskStore(team, me.bearer)
    held = store.own_unfinished(name)
    task = store.resume(held.id, me, died=died) if held else store.claim_next(me)
    say.send(str(task and task.status))
    say.recv()


def killed_at_work(root: Path, name: str, *, died: bool = False) -> str:
    """What the task was when the process that had just taken it was killed."""
    ours, theirs = FORKS.Pipe()
    worker = FORKS.Process(target=take_and_wait, args=(str(root), name, died, theirs), daemon=True)
    worker.start()
    theirs.close()
    assert ours.poll(30)
    status: str = ours.recv()
    worker.kill()
    worker.join()
    ours.close()
    return status


def test_a_task_whose_holder_is_killed_each_time_fails_with_its_history(tmp_path: Path) -> None:
    team = create_team(tmp_path, tmp_path)
    lead = leads(team)
    poison, behind, _ = lead.tasks.publish(
        task.id
        for task in lead.tasks.create(
            [
                TaskDraft(subject="poison", key="poison"),
                TaskDraft(subject="behind it", blocked_by=("poison",)),
                TaskDraft(subject="harmless", priority=9),
            ]
        )
    )
    sweep = Sweep(lead, ttl=lambda: 15.0)
    for name in ("ann", "bob", "cid"):
        assert killed_at_work(tmp_path, name) == "in_progress"
        sweep.look()
    history = lead.tasks.history(poison.id)
    assert [task.event for _, task in history] == [
        *("create", "publish", "claim", "reclaim", "claim", "reclaim", "claim", "fail")
    ]
    assert [task.owner for _, task in history if task.event == "claim"] == ["ann", "bob", "cid"]
    failed = lead.tasks.get(poison.id)
    assert (failed.status, failed.attempts) == (Status.FAILED, 3)
    assert "cid~2 is dead" in failed.why
    assert lead.tasks.blockers(behind.id) == (poison.id,)
    next_one = open_stores(team, "dan~2").tasks.claim_next(Claimant(name="dan", incarnation=2))
    assert next_one
    assert next_one.subject == "harmless"


def test_a_worker_that_is_restarted_after_each_death_does_not_live_on_it_for_ever(tmp_path: Path) -> None:
    team = create_team(tmp_path, tmp_path)
    tasks = leads(team).tasks
    [poison] = tasks.publish(task.id for task in tasks.create([TaskDraft(subject="poison")]))
    lives = [killed_at_work(tmp_path, "ann", died=True) for _ in range(4)]
    assert lives == [*["in_progress"] * 3, "failed"]
    assert [task.event for _, task in tasks.history(poison.id)][2:] == ["claim", "resume", "resume", "fail"]
