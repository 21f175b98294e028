"""`kill -9` at every step of making a tree and of removing one: nothing lost, nothing in the way."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from coordination.tasks.drafts import TaskDraft
from tests.support.last_step import dies_at
from workspace.clearing.removal import NoSuchTree, TreeKept
from workspace.worktrees import UNFINISHED

if TYPE_CHECKING:
    from tests.git.clearing.conftest import Yard

OPENS = """
import sys
from pathlib import Path
from coordination.stores import open_stores
from coordination.team_root import open_team
from workspace.git import Git
from workspace.worktrees import Worktrees
team = open_team(Path(sys.argv[1]))
stores = open_stores(team, "alice~2")
git = Git(team.repository)
trees = Worktrees(git, team.root)
"""
REMOVES = f"""{OPENS}
from workspace.clearing.removal import Removal
removal = Removal(stores, git, trees)
begin()
removal.remove(sys.argv[2])
"""
MAKES = f"""{OPENS}
from coordination.child import tool_environment
from coordination.tasks.refusals import Claimant
from harness.settings.settings import Settings
from workspace.checks import Verifier
from workspace.desk import Desk, Proof
from workspace.setup.tree_setup import TreeSetup
from coordination.records import Run
verifier = Verifier(git, team.root / ".worktrees/.verify-alice", tool_environment())
setup = TreeSetup(team, git, Settings(setup=("echo x > made.txt",)))
desk = Desk(team, stores.tasks, trees, verifier, claimant=Claimant(name="alice", incarnation=2),
            proof=Proof(checks={{}}), setup=setup)
task = stores.tasks.claim(sys.argv[2], desk.claimant)
begin()
desk.sit_down(task, Run(id="run_00000001", goal="", branch="leadhand/run_00000001", base="HEAD"))
"""


STRIDES = [pytest.param(4, id="every fourth"), pytest.param(1, id="every", marks=pytest.mark.stress)]


@pytest.mark.parametrize("stride", STRIDES)
def test_a_removal_may_die_at_any_step(yard: Yard, stride: int) -> None:
    held = yard.done("bob", other="1")
    (yard.path(held) / "notes.txt").write_text("work")
    died = 0
    while True:
        over = yard.done()
        yard.repository.write({".venv/bin/tool": "x"}, at=yard.path(over))
        if not dies_at(died * stride, REMOVES, str(yard.team.root), yard.name(over)):
            break
        died += 1
        with suppress(NoSuchTree):  # it died after the last step that counts
            yard.removal.remove(yard.name(over))
        yard.removal.sweep()
        assert yard.is_gone(over)
        assert yard.repository.git("rev-parse", over.branch or "") == over.commit
    assert died * stride > 5
    assert (yard.path(held) / "notes.txt").read_text() == "work"
    assert yard.repository.git("worktree", "list").count(".worktrees/task_") == 1


@pytest.mark.parametrize("stride", STRIDES)
def test_a_tree_may_be_cut_short_at_any_step_of_its_making(yard: Yard, stride: int) -> None:
    (task,) = yard.stores.tasks.create([TaskDraft(subject="Work", max_attempts=1000)])
    yard.stores.tasks.publish([task.id])
    died = 0
    while dies_at(died * stride, MAKES, str(yard.team.root), task.id):
        died += 1
        left = yard.stores.tasks.get(task.id)
        yard.stores.tasks.reclaim(task.id, left.token or 0, "it died")
    assert died * stride > 5
    done = yard.stores.tasks.get(task.id)
    assert (yard.path(done) / "made.txt").read_text() == "x\n"
    assert not yard.trees.lease_problem(yard.path(done), done.base or "")
    others = [tree.name for tree in yard.removal.inventory().all() if tree.name != yard.name(done)]
    for name in others:  # each tree that was cut short may go, at once or, once set up, by a clear word
        kept = yard.removal.refusal(yard.removal.inventory().find(name) or pytest.fail(name))
        assert kept is None or kept.why == "it holds changes that no commit has: made.txt"
        yard.removal.remove(name, discard=kept is not None)
    assert others
    assert yard.repository.git("worktree", "list").count(".worktrees/") == 1
    assert yard.repository.git("branch", "--list", "leadhand/*") == ""


def test_an_unfinished_tree_is_known_by_its_lock_and_may_go(yard: Yard) -> None:
    path = yard.trees.create("cut", base="HEAD")
    yard.repository.git("worktree", "lock", "--reason", UNFINISHED, str(path))
    (path / "add.py").unlink()  # a checkout that did not come to its end
    yard.removal.remove("cut")
    assert not path.exists()


def test_a_tree_that_somebody_locked_stays(yard: Yard) -> None:
    path = yard.trees.create("mine", base="HEAD")
    yard.repository.git("worktree", "lock", "--reason", "I look at it", str(path))
    with pytest.raises(TreeKept, match="I look at it"):
        yard.removal.remove("mine", discard=True)
