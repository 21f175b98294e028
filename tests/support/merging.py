"""A merge queue of a run on a real repository, and commits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.child import tool_environment
from workspace.checks import Verifier
from workspace.merge_queue import MergeQueue, Work

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git import Git
    from workspace.merge_queue import MergeOutcome

BRANCH = "leadhand/run_1"


def a_queue(git: Git, *trees: Path) -> MergeQueue:
    """A queue that checks in these trees."""
    return queue_with(git, *(Verifier(git, tree, tool_environment()) for tree in trees))


def queue_with(git: Git, *verifiers: Verifier, base: str = "main") -> MergeQueue:
    return MergeQueue(git, verifiers, branch=BRANCH, base=base, timeout_seconds=20)


def work(commit: str, check: str = "true") -> Work:
    """A commit that one check has to prove."""
    return Work(commit=commit, message="Merge task_1 (alice): Do it", checks={"check": check})


def merge(queue: MergeQueue, commit: str, check: str = "true") -> MergeOutcome:
    return queue.merge(work(commit, check))
