"""Commits come back to the run's branch proven, once, and never over anybody's work."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251 - a merging process that is killed
import sys
from typing import TYPE_CHECKING

import pytest

from coordination.child import tool_environment
from coordination.clock import SystemClock
from coordination.process import start_mark
from tests.support.hasty_clock import HastyClock
from tests.support.merging import BRANCH, merge, queue_with
from workspace.checks import Verifier
from workspace.git import Git, UnknownCommit
from workspace.merge_queue import (
    AlreadyThere,
    BranchKeepsMoving,
    ChecksRed,
    Conflict,
    Held,
    Merged,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coordination.records import CheckResult
    from tests.support.repository import Repository
    from workspace.merge_queue import MergeQueue

MERGER = """
import os, sys
from pathlib import Path
from workspace.checks import Verifier
from workspace.git import Git
from workspace.merge_queue import MergeQueue, Work
root, commit, command = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
git = Git(root)
verifier = Verifier(git, root / ".worktrees/.merge-1", os.environ)
queue = MergeQueue(git, [verifier], branch="leadhand/run_1", base="main", timeout_seconds=60)
queue.merge(Work(commit=commit, message="Merge", checks={"check": command}))
"""


def tip(repository: Repository) -> str:
    return repository.git("rev-parse", BRANCH)


@pytest.fixture
def work(repository: Repository) -> str:
    return repository.commit({"new.py": "x = 1\n"}, parent=repository.head())


def test_the_branch_begins_at_the_base_and_tells_each_merge(
    repository: Repository, queue: MergeQueue, work: str
) -> None:
    outcome = merge(queue, work, "test -e new.py")
    assert isinstance(outcome, Merged)
    assert outcome.commit == tip(repository)
    assert [result.exit_code for result in outcome.results] == [0]
    assert repository.git("log", "-1", "--format=%s|%an|%P", BRANCH) == (
        f"Merge task_1 (alice): Do it|leadhand|{repository.head()} {work}"
    )


def test_two_lines_of_work_are_both_on_the_branch(repository: Repository, queue: MergeQueue) -> None:
    for name in ("a", "b"):
        merge(queue, repository.commit({name: name}, parent=repository.head()))
    assert repository.git("ls-tree", "--name-only", BRANCH).split() == ["a", "add.py", "b"]


def test_what_is_on_the_branch_already_is_only_told(
    repository: Repository, queue: MergeQueue, work: str
) -> None:
    first = merge(queue, work)
    merge(queue, repository.commit({"later": ""}, parent=repository.head()))
    before = tip(repository)
    assert isinstance(first, Merged)
    assert merge(queue, work, "false") == AlreadyThere(commit=first.commit)
    assert tip(repository) == before


def test_a_task_that_changed_nothing_is_there_already_and_makes_the_branch(
    repository: Repository, queue: MergeQueue
) -> None:
    assert merge(queue, repository.head()) == AlreadyThere(commit=repository.head())
    assert tip(repository) == repository.head()


def test_a_conflict_names_the_files_and_both_sides_and_changes_nothing(
    repository: Repository, queue: MergeQueue
) -> None:
    ours = repository.commit({"x": "1", "y": "1", "ours": ""}, parent=repository.head())
    theirs = repository.commit({"x": "2", "y": "2"}, parent=repository.head())
    merge(queue, ours)
    before = tip(repository)
    outcome = merge(queue, theirs)
    assert outcome == Conflict(
        files=("x", "y"),
        kinds=("contents",),
        ours=before,
        theirs=theirs,
        ours_says=(f"{ours[:7]} Pat Person: Change x y ours",),
        theirs_says=(f"{theirs[:7]} Pat Person: Change x y",),
    )
    assert tip(repository) == before


def test_a_deletion_against_a_change_is_a_conflict(repository: Repository, queue: MergeQueue) -> None:
    base = repository.head()
    merge(queue, repository.commit({"add.py": "changed\n"}, parent=base))
    gone = repository.git("commit-tree", repository.git("mktree"), "-p", base, "-m", "Delete")
    outcome = merge(queue, gone)
    assert isinstance(outcome, Conflict)
    assert outcome.files == ("add.py",)


def test_the_next_merge_works_after_a_conflict(repository: Repository, queue: MergeQueue, work: str) -> None:
    merge(queue, repository.commit({"x": "1"}, parent=repository.head()))
    assert isinstance(merge(queue, repository.commit({"x": "2"}, parent=repository.head())), Conflict)
    assert isinstance(merge(queue, work), Merged)


def test_how_a_file_wants_to_be_merged_is_read_from_the_branch(
    repository: Repository, queue: MergeQueue
) -> None:
    repository.write({".gitattributes": "CHANGES merge=union\n", "CHANGES": "top\n"})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "Keep the lines of both")
    repository.remember()
    base = repository.head()
    merge(queue, repository.commit({"CHANGES": "top\none\n"}, parent=base))
    assert isinstance(merge(queue, repository.commit({"CHANGES": "top\ntwo\n"}, parent=base)), Merged)
    assert repository.git("show", f"{BRANCH}:CHANGES") == "top\none\ntwo"


def test_checks_judge_the_result_of_the_merge_and_not_the_commit(
    repository: Repository, queue: MergeQueue
) -> None:
    merge(queue, repository.commit({"a": ""}, parent=repository.head()))
    before = tip(repository)
    outcome = merge(queue, repository.commit({"b": ""}, parent=repository.head()), "! test -e a -a -e b")
    assert isinstance(outcome, ChecksRed)
    assert [result.exit_code for result in outcome.results] == [1]
    assert tip(repository) == before


def test_a_branch_that_somebody_has_checked_out_is_held(
    repository: Repository, queue: MergeQueue, work: str, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "--quiet", "-b", BRANCH, str(tmp_path / "mine"))
    outcome = merge(queue, work)
    assert isinstance(outcome, Held)
    assert str(tmp_path / "mine") in outcome.why
    assert tip(repository) == repository.head()


def test_a_branch_that_the_person_switched_to_is_held(
    repository: Repository, queue: MergeQueue, work: str
) -> None:
    repository.git("checkout", "--quiet", "-b", BRANCH)
    repository.remember()
    assert isinstance(merge(queue, work), Held)


def test_a_branch_that_somebody_checks_out_while_the_checks_run_is_held(
    repository: Repository, queue: MergeQueue, work: str, tmp_path: Path
) -> None:
    assert isinstance(merge(queue, work, f"git worktree add --quiet {tmp_path / 'mine'} {BRANCH}"), Held)
    assert tip(repository) == repository.head()


def test_edits_that_the_person_has_not_committed_stay_as_they_are(
    repository: Repository, queue: MergeQueue
) -> None:
    repository.write({"add.py": "mine, half done", "scratch": "mine"})
    repository.remember()  # the fixture compares
    assert isinstance(merge(queue, repository.commit({"add.py": "theirs"}, parent=repository.head())), Merged)


class MovingVerifier(Verifier):
    """Somebody else brings in a commit while the checks run, so many times."""

    def __init__(self, git: Git, tree: Path, others: list[str], second: MergeQueue) -> None:
        super().__init__(git, tree, tool_environment())
        self._others = others
        self._second = second

    def verify(
        self, commit: str, checks: Mapping[str, str], timeout_seconds: float, *, task: str = ""
    ) -> tuple[CheckResult, ...]:
        if self._others:
            merge(self._second, self._others.pop())
        return super().verify(commit, checks, timeout_seconds, task=task)


def moving(git: Git, repository: Repository, second: MergeQueue, others: list[str]) -> MergeQueue:
    verifier = MovingVerifier(git, repository.path / ".worktrees/.merge2", others, second)
    return queue_with(git, verifier)


def test_a_branch_that_moved_meanwhile_is_merged_anew(
    git: Git, repository: Repository, queue: MergeQueue, work: str
) -> None:
    other = repository.commit({"other": ""}, parent=repository.head())
    assert isinstance(merge(moving(git, repository, queue, [other]), work), Merged)
    assert {"other", "new.py"} <= set(repository.git("ls-tree", "--name-only", BRANCH).split())


def test_two_leads_never_merge_the_same_commit_twice(
    git: Git, repository: Repository, queue: MergeQueue, work: str
) -> None:
    assert merge(moving(git, repository, queue, [work]), work) == AlreadyThere(commit=tip(repository))
    assert repository.git("rev-list", "--merges", "--count", BRANCH) == "1"


def test_a_branch_that_never_rests_is_given_up(
    git: Git, repository: Repository, queue: MergeQueue, work: str
) -> None:
    others = [repository.commit({f"o{number}": ""}, parent=repository.head()) for number in range(5)]
    with pytest.raises(BranchKeepsMoving):
        merge(moving(git, repository, queue, others), work)


def gone_within(pid: int, *, seconds: float) -> None:
    clock = SystemClock()
    deadline = clock.monotonic() + seconds
    while start_mark(pid) is not None:
        assert clock.monotonic() < deadline, f"process {pid} lives on"
        clock.sleep(0.01)


def test_a_queue_killed_while_it_checks_blocks_nothing(
    repository: Repository, queue: MergeQueue, work: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "checking")
    command = f"echo $$ > {tmp_path / 'checking'}; exec sleep 60"
    killed = subprocess.Popen([sys.executable, "-c", MERGER, str(repository.path), work, command])
    check = int((tmp_path / "checking").read_text())
    killed.kill()
    killed.wait()
    gone_within(check, seconds=10)
    assert tip(repository) == repository.head()
    assert isinstance(merge(queue, work), Merged)


def test_what_a_killed_git_left_in_the_tree_blocks_nothing(repository: Repository, work: str) -> None:
    git = Git(repository.path, clock=HastyClock())
    queue = queue_with(git, Verifier(git, repository.path / ".worktrees/.merge", os.environ))
    merge(queue, work)
    own = git.at(repository.path / ".worktrees/.merge").place.own
    for name in ("index.lock", "HEAD.lock", "MERGE_HEAD"):
        (own / name).write_text(f"{work}\n")
    assert isinstance(merge(queue, repository.commit({"a": ""}, parent=repository.head())), Merged)


def test_a_missing_commit_is_refused(queue: MergeQueue) -> None:
    with pytest.raises(UnknownCommit):
        merge(queue, "0" * 40)
