"""A team with a sandbox, and a tree in which commands run inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.lead.opening import make_team
from tests.support.sandbox import a_sandbox, run
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.repository import Repository
    from workspace.commands import Ran


class Cage:
    """One tree of a team, and the sandbox around it."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.team, self.git = make_team(repository.path, None)
        self.sandbox = a_sandbox(self.team, self.git)
        self.trees = Worktrees(self.git, self.team.root, take_over=self.sandbox.take_over)
        self.tree = self.trees.create("task-1", base="HEAD")

    def run(self, command: str, *, at: Path | None = None) -> Ran:
        """An agent's command."""
        return run(self.sandbox.commands, at or self.tree, command)

    def works(self, command: str) -> str:
        """What a command printed that ended well."""
        ran = self.run(command)
        assert ran.exit_code == 0, ran.output
        return ran.output

    def fails(self, command: str) -> str:
        """What a command printed that was prevented."""
        ran = self.run(command)
        assert ran.exit_code != 0, ran.output
        return ran.output

    def snapshot(self) -> str:
        """The commit of all that is in the tree."""
        return self.trees.snapshot(self.tree, message="Work", member="alice", task="task_1")

    def show(self, commit: str, name: str) -> str:
        return self.repository.git("show", f"{commit}:{name}")

    def shot(self) -> dict[str, bytes]:
        """Every file of the person's repository but the boxes."""
        top = self.repository.path / ".git"
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file() and "leadhand-box" not in path.parts
        }


@pytest.fixture
def cage(repository: Repository) -> Cage:
    repository.remember()
    return Cage(repository)
