"""A lead that wakes after its supersession merges nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.child import tool_environment
from coordination.protocols import TermOver
from tests.support.merging import work
from tests.support.verifier import SlowVerifier
from workspace.git import Git, GitError, Guard
from workspace.merge_queue import Merged, MergeQueue
from workspace.run_fence import RunFence

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.repository import Repository

RUN = "run_00000001"
BRANCH = f"leadhand/{RUN}"


def take(git: Git, term: int) -> Guard:
    return RunFence(git=git, run=RUN, term=term).take()


def queue(git: Git, term: int, meanwhile: Callable[[], object] = lambda: None) -> MergeQueue:
    verifier = SlowVerifier(git, git.place.tree / f".worktrees/.merge-{term}", tool_environment())
    verifier.meanwhile = meanwhile
    guard = take(git, term)
    return MergeQueue(git, [verifier], branch=BRANCH, base="HEAD", timeout_seconds=60, guard=guard)


def merge(by: MergeQueue, commit: str) -> object:
    return by.merge(work(commit))


@pytest.fixture
def change(repository: Repository) -> str:
    return repository.commit({"b.py": "B = 1\n"}, parent="HEAD")


def test_a_lead_merges_while_the_term_is_its_own(git: Git, change: str) -> None:
    assert isinstance(merge(queue(git, 1), change), Merged)


def test_a_merge_that_was_proven_before_the_supersession_does_not_move_the_branch(
    git: Git, change: str
) -> None:
    first = queue(git, 1, lambda: take(git, 2))
    with pytest.raises(GitError):
        merge(first, change)
    assert git.tip(BRANCH) == git.head()
    assert isinstance(merge(queue(git, 2), change), Merged)


def test_not_even_the_branch_of_a_run_is_made_by_a_former_lead(git: Git, change: str) -> None:
    first = queue(git, 1)
    take(git, 2)
    with pytest.raises(GitError):
        merge(first, change)
    assert git.tip(BRANCH) is None


def test_a_former_lead_cannot_take_the_fence_back(git: Git) -> None:
    take(git, 3)
    with pytest.raises(TermOver, match="term 2 of leadership is over, 3 is"):
        take(git, 2)


def test_a_lead_takes_its_own_fence_twice(git: Git) -> None:
    assert take(git, 2) == take(git, 2)


def test_the_person_sees_no_branch_of_it(git: Git, repository: Repository) -> None:
    before = repository.git("branch", "--all")
    take(git, 1)
    assert repository.git("branch", "--all") == before
