"""A team on a real repository, whose members work in real trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination.child import tool_environment
from coordination.records import Run, Status, Task
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.usage import Usage
from orchestrator.lead.opening import make_team
from workspace.checks import Verifier
from workspace.clearing.removal import Removal
from workspace.clearing.tidying import Tidying
from workspace.desk import Desk, Proof
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.repository import Repository
    from workspace.git import Git


class Yard:
    """Tasks, the trees that members work in, and what is removed of them."""

    def __init__(self, repository: Repository, git: Git) -> None:
        self.team, _ = make_team(repository.path, None)
        self.repository = repository
        self.stores = open_stores(self.team, "person")
        self.trees = Worktrees(git, self.team.root)
        self.removal = Removal(self.stores, git, self.trees)
        self.events: list[dict[str, Any]] = []
        self.tidying = Tidying(self.removal, self._record)
        self.run = Run(id="run_00000001", goal="", branch="leadhand/run_00000001", base=repository.head())

    def _record(self, action: str, **facts: Any) -> None:
        self.events.append({"action": action, **facts})

    def desk(self, name: str = "alice") -> Desk:
        git, store = self.removal._git, self.stores.tasks
        verifier = Verifier(git, self.team.root / f".worktrees/.verify-{name}", tool_environment())
        claimant = Claimant(name=name, incarnation=2)
        return Desk(self.team, store, self.trees, verifier, claimant=claimant, proof=Proof(checks={}))

    def begun(self, desk: Desk, subject: str = "Work") -> Task:
        """A task that the desk's member works on in its tree."""
        (task,) = self.stores.tasks.create([TaskDraft(subject=subject)])
        self.stores.tasks.publish([task.id])
        return desk.sit_down(self.stores.tasks.claim(task.id, desk.claimant), self.run)

    def done(self, name: str = "alice", *, merged: bool = True, **files: str) -> Task:
        """A completed task, with a tree that nobody uses any more."""
        desk = self.desk(name)
        self.begun(desk)
        self.repository.write(
            {f"{file}.txt": text for file, text in (files or {"new": "1"}).items()}, at=desk.tree
        )
        task = desk.complete("done", Usage()).task
        assert task.status is Status.COMPLETED
        desk.leave()
        return self.stores.tasks.record_merge(task.id, task.commit or "") if merged else task

    def path(self, task: Task) -> Path:
        return self.team.root / (task.worktree or "")

    def name(self, task: Task) -> str:
        return self.path(task).name

    def listed(self) -> str:
        return self.repository.git("worktree", "list")

    def is_gone(self, task: Task) -> bool:
        """From the disk and from git's list, with nothing left on the way out."""
        left = [path.name for path in self.path(task).parent.iterdir() if path.name.startswith(".going")]
        return not self.path(task).exists() and self.name(task) not in self.listed() and not left


@pytest.fixture
def yard(repository: Repository, git: Git) -> Yard:
    return Yard(repository, git)
