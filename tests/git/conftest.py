"""A real repository of a person, and the parts of the workspace opened on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.child import tool_environment
from tests.support.merging import a_queue
from tests.support.repository import Repository
from workspace.checks import Verifier
from workspace.git import Git
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from workspace.merge_queue import MergeQueue


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """One commit on `main`; after the test the person's files, index, refs and hooks are as they were.

    What a test does on purpose as the person it does before `remember`, or calls that again.
    """
    made = Repository.create(tmp_path / "project", {"add.py": "def add(a, b):\n    return a + b\n"})
    made.remember()
    yield made
    assert made.is_as_remembered()


@pytest.fixture
def git(repository: Repository) -> Git:
    return Git(repository.path)


@pytest.fixture
def trees(git: Git, repository: Repository) -> Worktrees:
    return Worktrees(git, repository.path)


@pytest.fixture
def verifier(git: Git, repository: Repository) -> Verifier:
    return Verifier(git, repository.path / ".worktrees/.verify/alice", tool_environment())


@pytest.fixture
def queue(git: Git, repository: Repository) -> MergeQueue:
    return a_queue(git, *(repository.path / f".worktrees/.merge-{number}" for number in (1, 2)))
