"""A team on a real repository, and trees of it to make ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from harness.settings.settings import Settings
from orchestrator.lead.opening import make_team
from workspace.setup.tree_setup import TreeSetup
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.repository import Repository
    from workspace.git import Git


@dataclass
class Ground:
    """Makes trees of a repository, and makes them ready."""

    repository: Repository
    git: Git
    team: Team

    def setup(self, *commands: str, **named: Any) -> TreeSetup:
        settings = {name: named.pop(name) for name in list(named) if name in Settings.__dataclass_fields__}
        return TreeSetup(self.team, self.git, Settings(setup=commands, **settings), **named)

    def tree(self, name: str = "task_00000001-3") -> Path:
        return Worktrees(self.git, self.repository.path).create(name, base="HEAD")

    def ready(self, setup: TreeSetup, tree: Path, **checks: str) -> None:
        setup.prepare(self.git.at(tree), task="task_00000001", checks=checks)


@pytest.fixture
def ground(repository: Repository, git: Git) -> Ground:
    team, _ = make_team(repository.path, None)
    return Ground(repository, git, team)
