"""Completed work comes back in order, each commit proven where it lands, whoever leads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from coordination.protocols import TermOver
from coordination.records import Status, TaskResult
from coordination.tasks.drafts import TaskDraft
from tests.support.bringing_back import Returns
from tests.support.clock import FakeClock
from tests.support.mail import leave
from tests.support.people import claimant, stores_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.repository import Repository

pytestmark = pytest.mark.anyio


@pytest.fixture
def returns(repository: Repository) -> Returns:
    return Returns(repository)


async def test_waiting_commits_land_in_order_each_checked_as_it_stands_on_the_branch(
    returns: Returns,
) -> None:
    tasks = [returns.work(name) for name in "abcde"]
    await returns.bring_all_back()
    assert returns.on_branch() == ["a", "add.py", "b", "c", "d", "e"]
    assert returns.merges() == [f"Merge Add {name}" for name in "abcde"]
    merged = [returns.lead.tasks.get(task.id).merged for task in tasks]
    line = returns.repository.git("rev-list", "--first-parent", "--reverse", returns.run.branch).split()
    assert merged == line[1:]


async def test_checks_of_several_commits_run_beside_each_other(returns: Returns, tmp_path: Path) -> None:
    # Each check waits for the other: one behind the other they would never end.
    for name in "ab":
        os.mkfifo(tmp_path / name)
    meet = {
        "a": f"timeout 30 sh -c 'echo > {tmp_path}/a; cat {tmp_path}/b'",
        "b": f"timeout 30 sh -c 'cat {tmp_path}/a; echo > {tmp_path}/b'",
    }
    for name, command in meet.items():
        returns.checks[name] = command
        returns.work(name, check=name)
    await returns.bring_all_back()
    assert returns.on_branch() == ["a", "add.py", "b"]


async def test_what_was_checked_behind_a_red_commit_is_checked_again_without_it(
    returns: Returns, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    returns.checks["look"] = f"ls | tr '\\n' ' ' >> {seen}; echo >> {seen}"
    returns.work("a", check="red")
    returns.work("b", check="look")
    await returns.bring_all_back()
    assert returns.on_branch() == ["add.py", "b"]
    assert seen.read_text().splitlines()[-1] == "add.py b "


async def test_only_the_second_of_two_that_do_not_fit_goes_back(returns: Returns) -> None:
    first, second = returns.work("a", check="both"), returns.work("b", check="both")
    await returns.bring_all_back()
    assert returns.lead.tasks.get(first.id).merged
    assert returns.lead.tasks.get(second.id).merged is None
    (event,) = returns.events("sent_back")
    assert event["why"].startswith(f"merged with {returns.run.branch} its checks fail: both")


async def test_a_conflict_goes_back_with_files_and_sides_and_holds_up_nobody(returns: Returns) -> None:
    returns.work("a", text="1\n")
    clash, later = returns.work("a", text="2\n"), returns.work("b")
    await returns.bring_all_back()
    assert returns.lead.tasks.get(later.id).merged
    (again,) = [task for task in returns.lead.tasks.all() if task.redo_of == clash.id]
    assert again.status is Status.PENDING
    assert f"it conflicts with {returns.run.branch} in a (contents); there: " in again.description
    assert "Pat Person: Change a; here: " in again.description


async def test_what_needs_work_that_went_back_waits_for_the_new_task(returns: Returns) -> None:
    returns.work("a", text="1\n")
    clash = returns.work("a", text="2\n")
    dependent = returns.task("Build on it", blocked_by=(clash.id,))
    await returns.bring_all_back()
    (again,) = [task for task in returns.lead.tasks.all() if task.redo_of == clash.id]
    assert returns.lead.tasks.get(dependent.id).blocked_by == (clash.id, again.id)


async def test_a_lead_that_died_while_it_sent_work_back_is_followed_by_one_that_ends_it(
    returns: Returns,
) -> None:
    clash = returns.work("a")
    dependent = returns.task("Build on it", blocked_by=(clash.id,))
    draft = TaskDraft(subject="Add a", run=returns.run.id, redo_of=clash.id)
    (again,) = returns.lead.tasks.create([draft])  # and there it dies
    returns.take_lead()
    await returns.bring_all_back()
    assert returns.lead.tasks.get(again.id).status is Status.PENDING
    assert returns.lead.tasks.get(dependent.id).blocked_by == (clash.id, again.id)
    assert returns.events("merged") == []


async def test_work_that_changed_no_file_is_not_told_as_a_merge(returns: Returns) -> None:
    task, tasks = returns.task("Look", checks=("fine",)), stores_of(returns.team, returns.alice).tasks
    token = tasks.claim(task.id, claimant(returns.alice)).token or 0
    tasks.bind(task.id, token, worktree=".worktrees/x", base=returns.run.base)
    tasks.complete(task.id, token, commit=returns.run.base, branch="b", result=TaskResult(verified=True))
    await returns.bring_all_back()
    assert returns.lead.tasks.get(task.id).merged
    assert [event["task"] for event in returns.events("changed_nothing")] == [task.id]
    assert returns.events("merged") == []


async def test_one_commit_that_cannot_be_found_holds_up_only_itself(returns: Returns) -> None:
    lost = returns.done(returns.task(checks=("fine",)), "0" * 40)
    good = returns.work("a")
    await returns.bring_all_back()
    assert returns.lead.tasks.get(good.id).merged
    assert "there is no commit 000" in returns.integration.held_up[lost.id]


async def test_while_the_person_is_on_the_runs_branch_nothing_moves(returns: Returns) -> None:
    task = returns.work("a")
    returns.repository.git("checkout", "--quiet", "-b", returns.run.branch)
    returns.repository.remember()
    await returns.bring_all_back()
    assert f"{returns.run.branch} is checked out in" in returns.integration.held_up[task.id]
    returns.repository.git("checkout", "--quiet", "main")
    returns.repository.remember()
    await returns.bring_all_back()
    assert returns.lead.tasks.get(task.id).merged
    assert returns.integration.held_up == {}


def test_what_is_held_up_is_tried_again_after_longer_and_longer_pauses(returns: Returns) -> None:
    clock = FakeClock()
    returns.take_lead(retry_seconds=10)
    returns.integration._clock = clock

    def tried() -> bool:
        line = returns.integration.line_up()
        for waiting in line:
            returns.integration.settle(waiting)
        return bool(line)

    returns.work("a")
    returns.repository.git("checkout", "--quiet", "-b", returns.run.branch)
    returns.repository.remember()
    assert tried()
    for pause in (10, 20, 40, 80, 160, 160):
        clock.advance(pause - 1)
        assert not tried()
        clock.advance(1)
        assert tried()
    other = returns.work("b")
    assert tried()
    assert other.id in returns.integration.held_up
    clock.advance(10)
    assert tried()


async def test_two_leads_bring_the_same_work_back_once(returns: Returns) -> None:
    tasks = [returns.work("a"), returns.work("b")]
    line = returns.integration.line_up()
    first = returns.integration
    returns.take_lead()
    await returns.bring_all_back()
    with pytest.raises(TermOver):
        first.settle(line[0])
    assert returns.merges() == ["Merge Add a", "Merge Add b"]
    assert all(returns.lead.tasks.get(task.id).merged for task in tasks)


async def test_a_line_that_somebody_else_made_void_is_lined_up_again(returns: Returns) -> None:
    returns.work("a")
    line = returns.integration.line_up()
    other = returns.repository.commit({"o": ""}, parent=returns.run.base)
    returns.repository.git("branch", "--force", returns.run.branch, other)
    await line[0].verify(returns.queue)
    assert returns.integration.settle(line[0]) is None
    await returns.bring_all_back()
    assert returns.on_branch() == ["a", "add.py", "o"]


# siblings


async def test_under_whom_own_files_changed_is_told_which(returns: Returns) -> None:
    returns.works("bob", "add.py", "own")
    returns.work("add.py", "more", text="y = 2\n")
    await returns.bring_all_back()
    (mail,) = returns.mail("bob")
    commit = returns.repository.git("rev-parse", returns.run.branch)
    assert mail["type"] == "branch_moved"
    assert mail["content"] == (
        f"Add add.py more by alice is on {returns.run.branch} now ({commit:.10}); your tree is older.\n"
        f"You change the same files: add.py. Look with `git show {commit:.10}` and make yours fit, "
        "or the two will conflict.\n"
        "Also changed: more"
    )


async def test_whose_files_a_merge_does_not_touch_is_not_disturbed(returns: Returns) -> None:
    returns.works("bob", "own")
    returns.work("a")
    await returns.bring_all_back()
    assert (returns.mail("alice"), returns.mail("bob")) == ([], [])


async def test_a_sibling_that_has_left_holds_up_no_merge(returns: Returns) -> None:
    returns.works("bob", "a")
    leave(returns.team, "bob")
    returns.work("a")
    await returns.bring_all_back()
    assert returns.on_branch() == ["a", "add.py"]
    (event,) = returns.events("sibling_not_told")
    assert event["member"] == "bob"
