"""Where a process works: its trees, their set-up, the tree of its checks, its desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from coordination.child import tool_environment
from coordination.layout import verification_tree
from workspace.checks import Verifier
from workspace.desk import Desk, Proof
from workspace.sandbox.sandbox import Sandbox, SandboxSettings, Sight
from workspace.setup.tree_setup import SetupSettings, TreeSetup
from workspace.worktrees import Worktrees, trees_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from coordination.tasks.refusals import Claimant
    from coordination.tasks.store import TaskStore
    from coordination.team_root import Team
    from workspace.git import Git


class WorkplaceSettings(SetupSettings, SandboxSettings, Protocol):
    """What the person configured; the settings of every role satisfy it."""

    @property
    def trees_directory(self) -> str | None: ...

    @property
    def every_task_checks(self) -> tuple[str, ...]: ...

    @property
    def check_timeout_seconds(self) -> float: ...


class Workplace:
    """Makes the parts that lead and teammates work with, alike for both."""

    def __init__(
        self,
        team: Team,
        git: Git,
        settings: WorkplaceSettings,
        *,
        stopping: Callable[[], bool] = lambda: False,
        stopping_checks: Callable[[], bool] = lambda: False,
        sight: Sight | None = None,
    ) -> None:
        """`git` is on the person's checkout; `stopping` ends a set-up, `stopping_checks` also checks."""
        self.git = git
        self._team = team
        self._settings = settings
        self._stopping = stopping
        self._stopping_checks = stopping_checks
        self.sandbox = Sandbox(team, git, self._directory, settings, sight)

    def trees(self) -> Worktrees:
        """The worktrees of the team."""
        return Worktrees(self.git, self._team.root, self._directory, take_over=self.sandbox.take_over)

    @property
    def _directory(self) -> Path:
        return trees_directory(self._team, self._settings.trees_directory)

    def proof(self, checks: Mapping[str, str]) -> Proof:
        """How completions are proven, given the checks that are defined."""
        return Proof(
            checks=checks,
            every_task=self._settings.every_task_checks,
            timeout_seconds=self._settings.check_timeout_seconds,
        )

    def verifier(self, purpose: str, *, stopping: Callable[[], bool] | None = None) -> Verifier:
        """Runs checks in a tree of its own, made ready as a task's tree is.

        `stopping` ends them instead of what ends those of the desk.
        """
        return Verifier(
            self.git,
            self.trees().directory / verification_tree(purpose),
            tool_environment(passed=self._settings.environment_pass),
            stopping=stopping or self._stopping_checks,
            setup=self._setup(refresh=True),
            confine=self.sandbox.commands,
        )

    def desk(self, store: TaskStore, claimant: Claimant, proof: Proof) -> Desk:
        """The claimant's desk."""
        return Desk(
            self._team,
            store,
            self.trees(),
            self.verifier(claimant.name),
            claimant=claimant,
            proof=proof,
            setup=self._setup(refresh=False),
        )

    def _setup(self, *, refresh: bool) -> TreeSetup:
        def must_stop() -> bool:
            return self._stopping() or self._stopping_checks()

        return TreeSetup(
            self._team,
            self.git,
            self._settings,
            stopping=must_stop,
            refresh=refresh,
            confine=self.sandbox.setup,
        )
