"""One task at a time, in a tree of its own: taken, proven, handed in, given back, and never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination.child import tool_environment
from coordination.records import Run, Status, Task
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.tasks.rules import StaleToken
from coordination.tasks.store import TaskStore
from coordination.team_root import create_team
from coordination.usage import Usage
from tests.support.repository import Repository
from tests.support.verifier import SlowVerifier
from workspace.desk import Desk, HandedIn, LeaseBroken, NoTask, Proof, UnknownCheck, checks_of
from workspace.git import Git, UnknownCommit
from workspace.git_directory import WorktreeBroken
from workspace.worktrees import CannotCombine, Worktrees

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

PROOF = Proof(
    checks={"fine": "test -f fine.txt", "add": "python3 -c 'import add'"}, every_task=(), timeout_seconds=20
)
USED = Usage(calls=2, input_tokens=30)


class Office:
    """A board, a run, and desks at it."""

    def __init__(self, team: Team, git: Git, repository: Repository) -> None:
        self.team, self.git, self.repository = team, git, repository
        self.store = TaskStore(team, "lead~1", lambda: 1)
        self.run = Run(id="run_00000001", goal="", branch="leadhand/run_00000001", base=repository.head())

    def task(self, subject: str = "Make it fine", **fields: Any) -> Task:
        (task,) = self.store.create([TaskDraft(subject=subject, **fields)])
        return self.store.publish([task.id])[0]

    def desk(self, name: str = "alice", *, proof: Proof = PROOF) -> Desk:
        trees = Worktrees(self.git, self.team.root)
        verifier = SlowVerifier(self.git, self.team.root / f".worktrees/.verify-{name}", tool_environment())
        claimant = Claimant(name=name, incarnation=2)
        return Desk(self.team, self.store, trees, verifier, claimant=claimant, proof=proof)

    def sits_down(self, desk: Desk, task: Task) -> Task:
        """The desk's member works on the task."""
        return desk.sit_down(self.store.claim(task.id, desk.claimant), self.run)

    def writes(self, desk: Desk, **files: str) -> None:
        """Text files in the desk's tree."""
        self.repository.write({f"{name}.txt": text for name, text in files.items()}, at=desk.tree)

    def does(self, name: str, task: Task, **files: str) -> HandedIn:
        """Claimed, worked on and handed in."""
        desk = self.desk(name)
        self.sits_down(desk, task)
        self.writes(desk, **files)
        return desk.complete("done", USED)

    def show(self, commit: str | None, name: str) -> str:
        return self.repository.git("show", f"{commit}:{name}.txt")

    def branches(self, task: Task) -> list[str]:
        return self.repository.git(
            "for-each-ref", "--format=%(refname:short)", f"refs/heads/leadhand/{task.id}"
        ).split()


@pytest.fixture
def office(team: Team, git: Git, repository: Repository) -> Office:
    return Office(team, git, repository)


# sitting down


def test_a_claimed_task_gets_a_tree_at_the_newest_state_and_is_bound_to_it(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task())
    assert task.worktree == f".worktrees/{task.id}-{task.token}"
    assert task.base == office.repository.head()
    assert (desk.tree / "add.py").exists()
    assert desk.problem() is None
    assert office.store.get(task.id) == task


def test_the_work_of_a_blocker_that_is_not_merged_yet_is_in_the_tree(office: Office) -> None:
    first = office.task()
    second = office.task("Build on it", blocked_by=(first.id,))
    office.does("alice", first, fine="yes")
    desk = office.desk("bob")
    office.sits_down(desk, second)
    assert (desk.tree / "fine.txt").read_text() == "yes"
    assert desk.problem() is None


def test_a_merged_blocker_comes_with_the_branch(office: Office) -> None:
    first = office.task()
    second = office.task("Build on it", blocked_by=(first.id,))
    commit = office.does("alice", first, fine="yes").task.commit or ""
    office.repository.git("branch", office.run.branch, commit)
    office.store.record_merge(first.id, commit)
    desk = office.desk("bob")
    assert office.sits_down(desk, second).base == commit


def test_what_a_former_holder_committed_is_in_the_tree_of_the_next(office: Office) -> None:
    task, alice = office.task(), office.desk()
    office.sits_down(alice, task)
    office.writes(alice, begun="half")
    alice.give_back("stopped")
    bob = office.desk("bob")
    again = office.sits_down(bob, task)
    assert (bob.tree / "begun.txt").read_text() == "half"
    assert again.worktree != f".worktrees/{task.id}-3"


def test_the_work_of_a_former_holder_is_found_even_when_its_tree_is_gone(office: Office) -> None:
    task, alice = office.task(), office.desk()
    office.sits_down(alice, task)
    office.writes(alice, begun="half")
    tree = alice.tree
    alice.give_back("stopped")
    office.repository.git("worktree", "remove", "--force", str(tree))
    bob = office.desk("bob")
    office.sits_down(bob, task)
    assert (bob.tree / "begun.txt").read_text() == "half"


def test_a_former_holder_whose_work_contradicts_the_newest_state_is_left_aside(office: Office) -> None:
    task, alice = office.task(), office.desk()
    office.sits_down(alice, task)
    office.writes(alice, begun="half")
    alice.give_back("stopped")
    other = office.repository.commit({"begun.txt": "otherwise"}, parent=office.run.base)
    office.repository.git("branch", office.run.branch, other)
    bob = office.desk("bob")
    office.sits_down(bob, task)
    assert (bob.tree / "begun.txt").read_text() == "otherwise"
    assert office.show(office.branches(task)[0], "begun") == "half"


def test_blockers_that_contradict_each_other_release_the_task_which_is_no_attempt(office: Office) -> None:
    first, second = office.task("A"), office.task("B")
    third = office.task("C", blocked_by=(first.id, second.id))
    office.does("alice", first, same="one")
    office.does("bob", second, same="two")
    desk = office.desk("carol")
    with pytest.raises(CannotCombine):
        office.sits_down(desk, third)
    after = office.store.get(third.id)
    assert (after.status, after.attempts, desk.task) == (Status.PENDING, 0, None)
    assert after.why.startswith("no worktree could be made: ")


@pytest.mark.parametrize("merges_come", [False, True])
def test_work_that_never_fits_together_fails_the_task_instead_of_being_handed_round(
    office: Office, *, merges_come: bool
) -> None:  # W26
    checks = ("fine",) if merges_come else ()
    first, second = office.task("A", checks=checks), office.task("B", checks=checks)
    third = office.task("C", blocked_by=(first.id, second.id))
    office.does("alice", first, same="one", fine="yes")
    office.does("bob", second, same="two", fine="yes")
    desk = office.desk("carol")
    for _ in range(third.max_attempts):
        with pytest.raises(CannotCombine):
            office.sits_down(desk, third)
    after = office.store.get(third.id)
    assert after.status is (Status.PENDING if merges_come else Status.FAILED)
    assert "conflict in" in after.why


def test_a_run_from_a_commit_that_is_gone_releases_the_task(office: Office) -> None:
    office.run = Run(id="run_00000001", goal="", branch="leadhand/none", base="0" * 40)
    task = office.task()
    with pytest.raises(UnknownCommit):
        office.sits_down(office.desk(), task)
    assert office.store.get(task.id).status is Status.PENDING


# the lease


def test_without_a_task_there_is_no_place_to_work(office: Office) -> None:
    desk = office.desk()
    assert isinstance(desk.problem(), NoTask)
    with pytest.raises(NoTask):
        _ = desk.tree


def test_a_task_that_was_taken_away_is_no_longer_worked_on(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task())
    office.store.reclaim(task.id, task.token or 0, "silent")
    assert "it is pending, owned by nobody" in str(desk.problem())
    office.store.claim(task.id, Claimant(name="bob", incarnation=2))
    assert "owned by bob" in str(desk.problem())
    with pytest.raises(LeaseBroken):
        desk.complete("done", USED)


def test_a_tree_whose_head_was_moved_off_its_base_is_no_place_to_work(office: Office) -> None:
    desk = office.desk()
    office.sits_down(desk, office.task())
    orphan = office.repository.git("commit-tree", "HEAD^{tree}", "-m", "Other")
    office.repository.git("reset", "--hard", "--quiet", orphan, at=desk.tree)
    assert isinstance(desk.problem(), LeaseBroken)


def test_a_completed_task_keeps_its_tree_until_the_member_leaves(office: Office) -> None:
    desk = office.desk()
    office.sits_down(desk, office.task())
    desk.complete("done", USED)
    assert desk.problem() is None
    desk.leave()
    assert isinstance(desk.problem(), NoTask)


# handing in


def test_work_that_passes_its_checks_is_completed_and_proven(office: Office) -> None:  # W27
    done = office.does("alice", office.task(checks=("fine",)), fine="yes")
    task = done.task
    assert (task.status, done.refused) == (Status.COMPLETED, ())
    assert task.result
    assert (task.result.verified, task.result.text, task.result.usage) == (True, "done", USED)
    assert "fine.txt" in task.result.diff
    assert office.branches(task) == [task.branch]
    assert office.show(task.commit, "fine") == "yes"


def test_the_commit_names_member_and_task(office: Office) -> None:
    task = office.does("alice", office.task(checks=("fine",)), fine="yes").task
    said = office.repository.git("show", "-s", "--format=%an <%ae>%n%B", task.commit or "")
    assert said.splitlines()[0] == "alice <pat@example.org>"
    assert f"Leadhand-Task: {task.id}" in said


def test_work_that_fails_its_checks_is_refused_and_goes_on(office: Office) -> None:
    desk = office.desk()
    office.sits_down(desk, office.task(checks=("add", "fine")))
    refused = desk.complete("done, I think", USED)
    assert [check.name for check in refused.refused] == ["fine"]
    assert (refused.task.status, refused.task.refusals) == (Status.IN_PROGRESS, 1)
    assert "fine (exit code 1): test -f fine.txt" in str(refused)
    assert "(2 more tries)" in str(refused)
    office.writes(desk, fine="yes")
    assert desk.complete("now", USED).task.status is Status.COMPLETED


def test_the_last_refusal_fails_the_task(office: Office) -> None:
    desk = office.desk()
    office.sits_down(desk, office.task(checks=("fine",), max_attempts=1))
    assert desk.complete("done", USED).task.status is Status.FAILED


def test_what_is_not_committed_cannot_help_the_checks(office: Office) -> None:
    """A file that git ignores is in the tree and not in the proof."""
    desk = office.desk()
    office.sits_down(desk, office.task(checks=("fine",)))
    office.repository.write({".gitignore": "fine.txt\n"}, at=desk.tree)
    office.writes(desk, fine="yes")
    assert desk.complete("done", USED).refused


def test_work_without_checks_is_completed_as_unverified(office: Office) -> None:
    task = office.does("alice", office.task(), fine="yes").task
    assert task.result
    assert (task.status, task.result.verified) == (Status.COMPLETED, False)


def test_checks_of_every_task_run_first_and_each_once(office: Office) -> None:
    proof = Proof(checks=PROOF.checks, every_task=("add",))
    assert list(checks_of(office.task(checks=("fine", "add")), proof)) == ["add", "fine"]


def test_a_check_that_nobody_defined_proves_nothing_and_is_never_run(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task(checks=("touch /tmp/never",)))
    with pytest.raises(UnknownCheck, match="only the person can mend that"):
        desk.complete("done", USED)
    assert office.store.get(task.id).status is Status.IN_PROGRESS


def test_dependents_that_became_ready_are_named(office: Office) -> None:
    first = office.task()
    second = office.task("Build on it", blocked_by=(first.id,))
    done = office.does("alice", first)
    assert [task.id for task in done.now_ready] == [second.id]
    assert f"now ready: {second.id} Build on it" in str(done)


def test_work_that_comes_too_late_is_refused_and_kept_under_its_branch(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task(checks=("fine",)))
    office.writes(desk, fine="late")
    verifier = desk._verifier
    assert isinstance(verifier, SlowVerifier)
    verifier.meanwhile = lambda: office.store.reclaim(task.id, task.token or 0, "silent")
    with pytest.raises(StaleToken):
        desk.complete("done", USED)
    assert office.show(f"leadhand/{task.id}/{task.token}", "fine") == "late"
    assert office.store.get(task.id).status is Status.PENDING


def test_a_turn_that_ends_without_handing_in_is_a_refusal_with_the_work_kept(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task(max_attempts=2))
    office.writes(desk, begun="half")
    assert desk.not_handed_in(USED).task.refusals == 1
    assert office.show(f"leadhand/{task.id}/{task.token}", "begun") == "half"
    assert desk.not_handed_in(USED).task.status is Status.FAILED


def test_work_that_no_commit_would_hold_is_refused_like_any_other(office: Office) -> None:
    desk = office.desk()
    office.sits_down(desk, office.task(max_attempts=2))
    Repository.create(desk.tree / "nested", {"h": "h"})
    refused = desk.not_handed_in(USED).task
    assert refused.refusals == 1
    assert refused.result is not None
    assert "nested" in refused.result.text
    assert desk.not_handed_in(USED).task.status is Status.FAILED


# giving back


def test_a_task_that_is_given_back_is_pending_with_its_work_on_record(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task())
    office.writes(desk, begun="half")
    desk.give_back("stopped")
    after = office.store.get(task.id)
    assert (after.status, after.attempts, after.why) == (Status.PENDING, 0, "stopped")
    assert after.branch == f"leadhand/{task.id}/{task.token}"
    assert office.show(after.commit, "begun") == "half"
    assert desk.task is None


def test_a_task_whose_tree_is_gone_is_given_back_all_the_same(office: Office) -> None:
    desk = office.desk()
    task = office.sits_down(desk, office.task())
    office.repository.git("worktree", "remove", "--force", str(desk.tree))
    desk.give_back("stopped")
    after = office.store.get(task.id)
    assert after.status is Status.PENDING
    assert after.why.startswith("stopped; nothing could be kept: ")


@pytest.fixture
def linked(repository: Repository) -> Iterator[Repository]:
    """A person who works in a linked worktree, with an edit and a file that are in no commit."""
    path = repository.path.parent / "linked"
    repository.git("worktree", "add", "--quiet", "--detach", str(path))
    person = Repository(path)
    person.write({"add.py": "an edit", "untracked.txt": "mine"})
    before = person.head(), person.git("ls-files"), person.git("diff", "HEAD")
    yield person
    assert (person.head(), person.git("ls-files"), person.git("diff", "HEAD")) == before
    assert "untracked.txt" in person.git("ls-files", "--others")
    repository.git("worktree", "remove", "--force", str(path))


def test_a_task_without_a_tree_is_given_back_without_a_commit_of_the_persons_checkout(
    linked: Repository, clock: FakeClock
) -> None:
    office = Office(create_team(linked.path, linked.path, clock=clock), Git(linked.path), linked)
    desk, before = office.desk(), office.store.claim(office.task().id, Claimant(name="alice", incarnation=1))
    desk.task = office.store.resume(before.id, desk.claimant, died=True)
    assert isinstance(desk.problem(), NoTask)
    with pytest.raises(NoTask):
        desk.not_handed_in(USED)
    desk.give_back("stopped")
    after = office.store.get(before.id)
    assert (after.status, after.why, after.commit, after.branch) == (Status.PENDING, "stopped", None, None)
    assert office.branches(after) == []


@pytest.mark.parametrize("where", [".", "../linked", "../other"])
def test_nothing_is_committed_of_what_is_no_tree_of_the_team(
    repository: Repository, linked: Repository, where: str
) -> None:
    other = repository.path.parent / "other"
    repository.git("worktree", "add", "--quiet", "--detach", str(other))
    repository.write({"untracked.txt": "mine"}, at=other)
    trees = Worktrees(Git(linked.path), linked.path)
    with pytest.raises(WorktreeBroken, match="not a worktree of this team"):
        trees.snapshot(linked.path / where, message="x", member="alice", task="task_1")
    assert repository.git("status", "--porcelain", at=other) == "?? untracked.txt"
    repository.git("worktree", "remove", "--force", str(other))


def test_the_persons_linked_checkout_is_never_opened_as_a_tree(linked: Repository) -> None:
    with pytest.raises(WorktreeBroken, match="the person's own checkout"):
        Git(linked.path).at(linked.path)


# going on


def resumed(office: Office, desk: Desk, task: Task) -> Task:
    """The next process of the holder goes on with the task."""
    held = office.store.resume(task.id, desk.claimant, died=True)
    desk.go_on(held)
    return held


def test_a_successor_goes_on_in_the_tree_of_its_task(office: Office) -> None:
    first, again = office.desk(), office.desk()
    task = office.sits_down(first, office.task())
    again.claimant = Claimant(name="alice", incarnation=3)
    resumed(office, again, task)
    assert again.tree == first.tree
    assert again.problem() is None


def test_a_successor_sits_down_anew_where_no_tree_was_bound(office: Office) -> None:
    first, again = office.desk(), office.desk()
    task = office.store.claim(office.task().id, first.claimant)
    again.claimant = Claimant(name="alice", incarnation=3)
    held = resumed(office, again, task)
    assert again.task is None
    assert again.sit_down(held, office.run).worktree == f".worktrees/{task.id}-{held.token}"


def test_a_successor_does_not_take_the_tree_of_a_former_holder_for_its_own(office: Office) -> None:
    task, alice, bob = office.task(), office.desk(), office.desk("bob")
    office.sits_down(alice, task)
    office.store.reclaim(task.id, alice.task.token if alice.task else 0, "silent")
    office.store.claim(task.id, Claimant(name="bob", incarnation=1))
    resumed(office, bob, task)
    assert bob.task is None


def test_giving_back_nothing_changes_nothing(office: Office) -> None:
    office.desk().give_back("stopped")
    assert office.store.all() == []


def test_the_persons_directory_is_never_where_work_is_done(office: Office, tmp_path: Path) -> None:
    desk = office.desk()
    office.sits_down(desk, office.task())
    assert not desk.tree.is_relative_to(office.repository.path)
    assert desk.tree.is_relative_to(tmp_path)


def test_work_that_was_done_again_is_not_built_on_beside_what_took_its_place(office: Office) -> None:
    clash = office.task()
    office.does("alice", clash, fine="the old way")
    again = office.task("Once more", redo_of=clash.id)
    commit = office.does("alice", again, fine="the new way").task.commit or ""
    office.repository.git("branch", office.run.branch, commit)
    office.store.record_merge(again.id, commit)
    desk = office.desk("bob")
    office.sits_down(desk, office.task("Build on it", blocked_by=(clash.id, again.id)))
    assert (desk.tree / "fine.txt").read_text() == "the new way"
