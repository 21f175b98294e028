"""A tree made beforehand: each reason against it by its own words, each half-way point told exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination.records import Status, Task
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import UnknownTask
from tests.git.clearing.test_kills import OPENS
from tests.support.last_step import dies_at
from workspace.git import GitError
from workspace.tree_making import (
    NameBound,
    NoTreeFor,
    NotTheTop,
    PartialOperation,
    PartialSuccess,
    PathTaken,
    RegistryUnreadable,
    TreeMaker,
)
from workspace.worktrees import UNFINISHED, WorktreeName, Worktrees

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.git.clearing.conftest import Yard

# A git that does not do as it is told, once the real one has done it or instead of it.
GIT = """#!/bin/sh
case "$*" in
"worktree add"*) {instead} ;;
"worktree list"*) {listing} ;;
esac
exec {real} "$@"
"""
MAKES = f"""{OPENS}
from workspace.clearing.removal import Removal
from workspace.tree_making import TreeMaker
from coordination.records import Run
maker = TreeMaker(stores, git, trees, Removal(stores, git, trees))
begin()
maker.make("fix", sys.argv[2], Run(id="run_00000001", goal="", branch="leadhand/run_00000001", base="HEAD"))
"""


def put_up(yard: Yard, **fields: Any) -> Task:
    (task,) = yard.stores.tasks.create([TaskDraft(subject="Work", **fields)])
    return yard.stores.tasks.publish([task.id])[0]


def maker(yard: Yard) -> TreeMaker:
    return TreeMaker(yard.stores, yard.removal._git, yard.trees, yard.removal)


def make(yard: Yard, task: Task, name: str = "fix") -> Path:
    return maker(yard).make(name, task.id, yard.run)


def replace_git(yard: Yard, place: Path, *, instead: str = ":", listing: str = ":") -> None:
    """Git of the host, from now on."""
    text = GIT.format(instead=instead, listing=listing, real=yard.removal._git._program)
    place.mkdir()
    (place / "git").write_text(text)
    (place / "git").chmod(0o755)
    yard.removal._git._program = str(place / "git")


def untouched(yard: Yard, task: Task) -> bool:
    return yard.stores.tasks.get(task.id) == task


def test_whoever_claims_the_task_works_in_the_tree_at_the_newest_state(yard: Yard) -> None:  # T54
    first = yard.done()
    task = put_up(yard, blocked_by=(first.id,))
    path = make(yard, task)
    assert path == yard.team.root / ".worktrees/fix"
    assert yard.stores.tasks.get(task.id).prepared == ".worktrees/fix"
    yard.repository.git("branch", yard.run.branch, first.commit or "")  # it moves on meanwhile
    desk = yard.desk("bob")
    bound = desk.sit_down(yard.stores.tasks.claim(task.id, desk.claimant), yard.run)
    assert (bound.worktree, bound.base, bound.prepared) == (".worktrees/fix", first.commit, None)
    assert (desk.tree / "new.txt").exists()
    assert desk.problem() is None


def test_what_the_person_put_into_it_stays(yard: Yard) -> None:
    task = put_up(yard)
    (make(yard, task) / "hint.txt").write_text("look here")
    desk = yard.desk()
    desk.sit_down(yard.stores.tasks.claim(task.id, desk.claimant), yard.run)
    assert (desk.tree / "hint.txt").read_text() == "look here"


def test_a_holder_whose_tree_is_gone_gets_a_fresh_one_and_never_the_main_checkout(yard: Yard) -> None:  # S19
    task = put_up(yard)
    make(yard, task).rename(yard.team.root / ".worktrees/moved")
    desk = yard.desk()
    bound = desk.sit_down(yard.stores.tasks.claim(task.id, desk.claimant), yard.run)
    assert desk.tree == yard.team.root / f".worktrees/{bound.id}-{bound.token}"


def test_the_next_holder_of_given_back_work_gets_a_tree_of_its_own(yard: Yard) -> None:
    task, alice, bob = put_up(yard), yard.desk(), yard.desk("bob")
    make(yard, task)
    alice.sit_down(yard.stores.tasks.claim(task.id, alice.claimant), yard.run)
    alice.give_back("stopped")
    bob.sit_down(yard.stores.tasks.claim(task.id, bob.claimant), yard.run)
    assert bob.tree.name != "fix"


# what stands against it, in its order


@pytest.mark.parametrize("name", ["..", "a/b", "feature/test", ".git", "ä", ""])
def test_a_name_that_is_none_comes_first(yard: Yard, name: str) -> None:  # S24
    with pytest.raises(WorktreeName):
        maker(yard).make(name, "task_00000001", yard.run)


def test_then_the_task_is_looked_for(yard: Yard) -> None:
    (yard.team.root / ".worktrees/fix").mkdir()
    with pytest.raises(UnknownTask):
        maker(yard).make("fix", "task_00000001", yard.run)


def test_a_task_that_was_taken_or_finished_gets_none(yard: Yard) -> None:
    desk = yard.desk()
    task = yard.begun(desk)
    with pytest.raises(NoTreeFor, match="is in_progress, owned by alice"):
        make(yard, task)
    yard.stores.tasks.cancel(task.id, "not wanted")
    with pytest.raises(NoTreeFor, match="is cancelled,"):
        make(yard, task)


def test_a_task_has_one_tree(yard: Yard) -> None:
    task = put_up(yard)
    make(yard, task)
    with pytest.raises(NoTreeFor, match=r"has the worktree .worktrees/fix already"):
        make(yard, task, "other")


def test_a_tree_of_another_task_is_not_shared(yard: Yard) -> None:  # S19
    first = put_up(yard)
    make(yard, first)
    with pytest.raises(NameBound, match=first.id):
        make(yard, put_up(yard))


@pytest.mark.parametrize("what", ["a directory", "a file", "a link"])
def test_what_lies_in_the_way_is_left_alone(yard: Yard, what: str) -> None:
    place = yard.team.root / ".worktrees/fix"
    {"a directory": place.mkdir, "a file": place.touch, "a link": lambda: place.symlink_to("x")}[what]()
    task = put_up(yard)
    with pytest.raises(PathTaken, match=what):
        make(yard, task)
    assert untouched(yard, task)
    assert place.is_symlink() or place.exists()


def test_a_repository_that_is_no_longer_the_top_is_refused(yard: Yard) -> None:
    task = put_up(yard)
    aside = (yard.team.root / ".git").rename(yard.team.root.parent / "aside")
    with pytest.raises(NotTheTop):
        make(yard, task)
    aside.rename(yard.team.root / ".git")
    assert untouched(yard, task)


def test_a_registry_that_cannot_be_read_is_refused(yard: Yard, tmp_path: Path) -> None:
    task, making = put_up(yard), maker(yard)
    replace_git(yard, tmp_path / "bin", listing="echo bad >&2; exit 3")
    with pytest.raises(RegistryUnreadable, match="bad"):
        making.make("fix", task.id, yard.run)
    assert untouched(yard, task)


def test_a_tree_that_is_only_listed_any_more_is_in_the_way(yard: Yard) -> None:
    path = yard.trees.create("fix", base="HEAD")
    path.rename(yard.team.root / ".worktrees/moved")
    with pytest.raises(PathTaken, match="its folder is gone"):
        make(yard, put_up(yard))


# half-way


def test_a_git_that_fails_cleanly_leaves_nothing(yard: Yard, tmp_path: Path) -> None:  # T56
    task = put_up(yard)
    replace_git(yard, tmp_path / "bin", instead="echo no room >&2; exit 128")
    with pytest.raises(GitError, match="no room"):
        make(yard, task)
    assert untouched(yard, task)
    assert not (yard.team.root / ".worktrees/fix").exists()


def test_a_git_that_fails_half_way_is_reported_exactly_and_nothing_is_deleted(
    yard: Yard, tmp_path: Path
) -> None:
    task = put_up(yard)
    real = yard.removal._git._program
    replace_git(yard, tmp_path / "bin", instead=f'{real} "$@"; echo then it broke >&2; exit 1')
    with pytest.raises(PartialOperation) as raised:
        make(yard, task)
    assert "there is: its directory and its entry in git's list" in str(raised.value)
    assert (yard.team.root / ".worktrees/fix/add.py").exists()
    assert untouched(yard, task)
    yard.removal._git._program = real
    assert make(yard, task).exists()  # the next call knows that nobody worked in it


class Hasty(Worktrees):
    """Somebody claims the task while git works."""

    meanwhile: Callable[[], object]

    def create(self, *arguments: Any, **named: Any) -> Path:
        path = super().create(*arguments, **named)
        self.meanwhile()
        return path


def test_a_task_that_is_claimed_meanwhile_is_reported_exactly(yard: Yard) -> None:  # T58, W19
    task = put_up(yard)
    trees = Hasty(yard.removal._git, yard.team.root)
    trees.meanwhile = lambda: yard.stores.tasks.claim(task.id, yard.desk().claimant)
    with pytest.raises(PartialSuccess, match=r"the worktree fix is at .worktrees/fix, but the task could"):
        TreeMaker(yard.stores, yard.removal._git, trees, yard.removal).make("fix", task.id, yard.run)
    assert (yard.team.root / ".worktrees/fix/add.py").exists()
    left = yard.stores.tasks.get(task.id)
    assert (left.status, left.prepared, left.worktree) == (Status.IN_PROGRESS, None, None)


def test_an_interrupted_making_is_rolled_back_by_the_next(yard: Yard) -> None:  # S14
    path = yard.trees.create("fix", base="HEAD", finished=False)
    (path / "add.py").unlink()
    task = put_up(yard)
    assert (make(yard, task) / "add.py").exists()
    assert UNFINISHED not in yard.repository.git("worktree", "list", "--porcelain")


def test_a_making_may_die_at_any_step_and_be_asked_for_again(yard: Yard) -> None:  # S14
    died = 0
    while True:
        task = put_up(yard)
        if not dies_at(died, MAKES, str(yard.team.root), task.id):
            break
        died += 1
        if not yard.stores.tasks.get(task.id).prepared:
            make(yard, task)
        desk = yard.desk()
        bound = desk.sit_down(yard.stores.tasks.claim(task.id, desk.claimant), yard.run)
        assert bound.worktree == ".worktrees/fix"
        assert desk.problem() is None
        yard.stores.tasks.cancel(task.id, "tried")
        yard.removal.remove("fix")
    assert died > 3
    assert yard.repository.git("branch", "--list", "leadhand/*") == ""
