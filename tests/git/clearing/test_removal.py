"""A tree goes when it holds nothing; else it stays, and the reason is told."""

from __future__ import annotations

import subprocess  # noqa: TID251 - something that runs in a tree
import sys
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from coordination.records import Status
from coordination.roster import Roster
from tests.support.repository import Repository
from workspace.clearing.inventory import registered_trees
from workspace.clearing.removal import NoSuchTree, TreeKept

if TYPE_CHECKING:
    from pathlib import Path

    from tests.git.clearing.conftest import Yard


def refusal(yard: Yard, name: str, *, discard: bool = False) -> TreeKept:
    with pytest.raises(TreeKept) as raised:
        yard.removal.remove(name, discard=discard)
    return raised.value


def test_the_tree_of_a_merged_task_goes_and_its_branch_stays(yard: Yard) -> None:
    task = yard.done()
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)
    assert yard.repository.git("rev-parse", task.branch or "") == task.commit


def test_an_unknown_name_is_told_what_there_is(yard: Yard) -> None:
    task = yard.done()
    with pytest.raises(NoSuchTree, match=yard.name(task)):
        yard.removal.remove("nothing")


@pytest.mark.parametrize("discard", [False, True])  # T63
def test_the_tree_of_an_active_task_stays_whatever_is_asked(yard: Yard, *, discard: bool) -> None:
    desk = yard.desk()
    task = yard.begun(desk)
    in_progress = refusal(yard, yard.name(task), discard=discard)
    assert (in_progress.code, in_progress.name) == ("active_task", yard.name(task))
    yard.stores.tasks.release(task.id, task.token or 0, "stopped")
    pending = refusal(yard, yard.name(task), discard=discard)
    assert "is pending and goes on from it" in str(pending)
    assert desk.tree.is_dir()
    assert yard.stores.tasks.get(task.id).status is Status.PENDING


def test_an_untracked_file_keeps_a_tree_and_its_binding(yard: Yard) -> None:  # T59
    task = yard.done()
    (yard.path(task) / "notes.txt").write_text("work")
    kept = refusal(yard, yard.name(task))
    assert (kept.code, "notes.txt" in kept.why) == ("work", True)
    assert yard.stores.tasks.get(task.id).worktree == task.worktree
    assert (yard.path(task) / "notes.txt").read_text() == "work"


def test_an_edit_that_no_commit_has_keeps_a_tree(yard: Yard) -> None:  # S18
    task = yard.done()
    (yard.path(task) / "add.py").write_text("changed\n")
    assert refusal(yard, yard.name(task)).code == "work"


def test_an_ignored_file_keeps_a_tree_until_it_is_given_up(yard: Yard) -> None:  # T60, T61
    exclude = yard.repository.path / ".git/info/exclude"
    exclude.write_text("*.secret\n")
    task = yard.done()
    (yard.path(task) / "a.secret").write_text("only here")
    kept = refusal(yard, yard.name(task))
    assert (kept.code, "a.secret" in kept.why) == ("ignored_files", True)
    (yard.path(task) / "b.txt").write_text("dirty")
    yard.removal.remove(yard.name(task), discard=True)
    assert yard.is_gone(task)
    assert yard.repository.git("rev-parse", task.branch or "") == task.commit


def test_a_file_in_a_submodule_that_is_not_set_up_keeps_a_tree(yard: Yard) -> None:
    other = Repository.create(yard.repository.path.parent / "lib", {"l.py": ""})
    yard.repository.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "lib"
    )
    yard.repository.remember()
    yard.run = structs.replace(yard.run, base=yard.repository.head())
    task = yard.done()
    yard.repository.write({"lib/only.txt": "here"}, at=yard.path(task))
    kept = refusal(yard, yard.name(task))
    assert (kept.code, "lib" in kept.why) == ("work", True)
    assert (yard.path(task) / "lib/only.txt").exists()


def test_what_any_tool_makes_anew_does_not_keep_a_tree(yard: Yard) -> None:
    task = yard.done()
    for name in ("__pycache__/a.pyc", ".venv/bin/python", "node_modules/a/index.js", "sub/.pytest_cache/x"):
        yard.repository.write({name: "made"}, at=yard.path(task))
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)


def test_a_copy_of_the_person_s_own_file_does_not_keep_a_tree_but_an_edited_one_does(yard: Yard) -> None:
    (yard.repository.path / ".git/info/exclude").write_text("*.local\n")
    yard.repository.write({"a.local": "1", "b.local": "1"})
    yard.repository.remember()
    task = yard.done()
    yard.repository.write({"a.local": "1", "b.local": "2"}, at=yard.path(task))
    assert refusal(yard, yard.name(task)).why.endswith("ignores: b.local")
    yard.repository.write({"b.local": "1"}, at=yard.path(task))
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)


def test_copies_of_a_directory_and_of_a_link_do_not_keep_a_tree_but_others_do(yard: Yard) -> None:
    (yard.repository.path / ".git/info/exclude").write_text("build/\nlink\n")
    task = yard.done()
    for place in (yard.repository.path, yard.path(task)):
        yard.repository.write({"build/sub/a": "1"}, at=place)
        (place / "link").symlink_to("nowhere")
    yard.repository.remember()
    (yard.path(task) / "build/b").write_text("only here")
    assert refusal(yard, yard.name(task)).why.endswith("ignores: build/")
    (yard.path(task) / "build/b").unlink()
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)


def test_a_commit_on_no_branch_keeps_a_tree_and_gets_a_branch_when_it_is_given_up(yard: Yard) -> None:  # S18
    task = yard.done()
    tree = yard.path(task)
    yard.repository.git("commit", "--quiet", "--allow-empty", "-m", "Late", at=tree)
    loose = yard.repository.git("rev-parse", "HEAD", at=tree)
    assert refusal(yard, tree.name).why == f"its commit {loose:.10} is on no branch"
    yard.removal.remove(tree.name, discard=True)
    assert yard.repository.git("rev-parse", f"leadhand/kept/{tree.name}") == loose


def test_a_tree_with_a_branch_checked_out_stays(yard: Yard) -> None:
    task = yard.done()
    yard.repository.git("checkout", "--quiet", "-b", "mine", at=yard.path(task))
    assert refusal(yard, yard.name(task), discard=True).code == "on_branch"
    yard.repository.git("checkout", "--quiet", "--detach", at=yard.path(task))
    yard.repository.git("branch", "--quiet", "-D", "mine")


def test_a_tree_in_which_something_runs_stays(yard: Yard) -> None:
    task = yard.done()
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()"],
        cwd=yard.path(task),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout
        running.stdout.readline()
        kept = refusal(yard, yard.name(task), discard=True)
        assert (kept.code, str(running.pid) in kept.why) == ("running", True)
        running.kill()
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)


def test_a_completed_task_keeps_its_tree_to_the_end_of_the_turn(yard: Yard) -> None:
    roster = Roster(yard.team, "alice")
    started = roster.start("alice")
    roster.come_alive("alice", started.spawn_id)
    task = yard.done()  # by alice~2, which lives and holds nothing else
    assert refusal(yard, yard.name(task), discard=True).code == "leased"
    yard.begun(yard.desk())
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)


def test_a_folder_that_was_deleted_by_hand_is_gone_and_its_branch_stays(yard: Yard) -> None:  # S22
    task = yard.done()
    yard.path(task).rename(yard.team.root / "trash")
    assert yard.name(task) in yard.listed()
    yard.removal.remove(yard.name(task))
    assert yard.is_gone(task)
    assert yard.repository.git("rev-parse", task.branch or "") == task.commit
    (yard.team.root / "trash").rename(yard.path(task))


def test_a_folder_that_git_does_not_list_is_left_alone(yard: Yard) -> None:
    (yard.team.root / ".worktrees/strange").mkdir()
    assert refusal(yard, "strange", discard=True).code == "not_registered"


def test_a_tree_whose_git_file_is_damaged_is_left_alone(yard: Yard) -> None:
    task = yard.done()
    (yard.path(task) / ".git").write_text("nonsense")
    assert refusal(yard, yard.name(task)).code == "unreadable"
    assert refusal(yard, yard.name(task), discard=True).code == "unreadable"


def test_a_tree_of_the_person_elsewhere_is_none_of_the_team_s(yard: Yard, tmp_path: Path) -> None:
    yard.repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "mine"))
    assert not yard.removal.inventory().all()
    with pytest.raises(NoSuchTree):
        yard.removal.remove("mine")


def test_eighty_trees_with_long_paths_are_all_listed(yard: Yard, tmp_path: Path) -> None:  # T53
    deep = tmp_path / ("d" * 80)
    for number in range(80):
        target = yard.repository.path / f".git/worktrees/w{number}"
        target.mkdir(parents=True)
        (target / "HEAD").write_text(f"{yard.repository.head()}\n")
        (target / "commondir").write_text("../..\n")
        (target / "gitdir").write_text(f"{deep / str(number)}/.git\n")
    (target / "locked").write_text("on a disk that is not there\n")
    listed = {entry.path: entry for entry in registered_trees(yard.removal._git)}
    assert set(listed) == {deep / str(number) for number in range(80)}
    assert listed[deep / "79"].locked == "on a disk that is not there"


def test_a_tree_in_which_checks_run_goes_unless_its_member_lives(yard: Yard) -> None:
    desk = yard.desk()
    tree = desk._verifier.check_out("HEAD").place.tree
    roster = Roster(yard.team, "alice")
    started = roster.start("alice")
    roster.come_alive("alice", started.spawn_id)
    assert refusal(yard, ".verify-alice").code == "leased"
    roster.closing("alice", 2)
    roster.closed("alice", 2, {}, "left")
    (tree / "rubbish").touch()
    yard.removal.remove(".verify-alice")
    assert not tree.exists()


# what the lead does on its own


def test_trees_are_released_once_their_work_is_brought_back(yard: Yard) -> None:
    merged, waiting = yard.done(), yard.done("bob", merged=False, other="1")
    yard.tidying.step()
    assert yard.is_gone(merged)
    assert yard.path(waiting).is_dir()
    assert [event["action"] for event in yard.events] == ["tree_removed"]
    yard.stores.tasks.record_merge(waiting.id, waiting.commit or "")
    yard.tidying.step()
    assert yard.is_gone(waiting)


def test_what_holds_work_stays_with_the_reason_on_record_once(yard: Yard) -> None:  # S18
    dirty, loose = yard.done(), yard.done("bob", other="1")
    (yard.path(dirty) / "notes.txt").write_text("work")
    yard.repository.git("commit", "--quiet", "--allow-empty", "-m", "Late", at=yard.path(loose))
    yard.tidying.step()
    yard.tidying.step()
    assert yard.path(dirty).is_dir()
    assert yard.path(loose).is_dir()
    reasons = {event["tree"]: event["code"] for event in yard.events}
    assert reasons == {yard.name(dirty): "work", yard.name(loose): "work"}
    assert len(yard.events) == 2


def test_the_tree_of_an_earlier_holder_goes_with_its_task(yard: Yard) -> None:
    alice, bob = yard.desk(), yard.desk("bob")
    first = yard.begun(alice)
    alice.give_back("stopped")
    task = bob.sit_down(yard.stores.tasks.claim(first.id, bob.claimant), yard.run)
    yard.tidying.step()
    assert yard.path(first).is_dir()
    yard.stores.tasks.cancel(task.id, "not wanted")
    yard.tidying.step()
    assert yard.is_gone(first)
    assert yard.is_gone(task)
