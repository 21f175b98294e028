"""What a lead has of the repository: worktrees, the merge queue, and what may go of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.tasks.refusals import Claimant
from harness.permissions.protected import is_secret
from orchestrator.merging.integration import Integration
from orchestrator.merging.sending_back import finish_sending_back
from workspace.clearing.removal import Removal
from workspace.clearing.tidying import Tidying
from workspace.merge_queue import MergeQueue
from workspace.run_fence import RunFence
from workspace.sandbox.sandbox import Sight
from workspace.tree_making import TreeMaker
from workspace.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from coordination.stores import Stores
    from harness.settings.settings import Settings
    from orchestrator.lead.opening import Opened
    from workspace.checks import Verifier
    from workspace.desk import Desk


class Grounds:
    """The repository as one lead works on it."""

    def __init__(
        self, opened: Opened, settings: Settings, background: Stores, *, trusted: Collection[str] = ()
    ) -> None:
        """Work that a former lead was sending back is on its way again; `background` records that.

        `trusted` are the files that the run has from the repository.
        """
        self._trusted = trusted
        self.is_stopping = False  # not even a check that runs is waited for
        self._opened = opened
        self._settings = settings
        self._workplace = Workplace(
            opened.team,
            opened.git,
            settings,
            stopping_checks=lambda: self.is_stopping,
            sight=Sight(shown=[layout.outputs(layout.bearer("lead", opened.term))], is_secret=is_secret),
        )
        self.sandbox = self._workplace.sandbox
        finish_sending_back(background, opened.run.id)
        self.integration = self._integration()
        self.tidying = self._tidying()

    def desk(self, stores: Stores) -> Desk:
        """Where the lead works on a task that it claimed itself."""
        claimant = Claimant(name="lead", incarnation=self._opened.term, role="lead")
        return self._workplace.desk(stores.tasks, claimant, self._workplace.proof(self._opened.run.checks))

    def make_tree(self, stores: Stores, name: str, task_id: str) -> Path:
        """A worktree for a task that nobody has claimed. Raises what `TreeMaker.make` does."""
        git, trees = self._opened.git, self._workplace.trees()
        maker = TreeMaker(stores, git, trees, Removal(stores, git, trees))
        return maker.make(name, task_id, stores.runs.get(self._opened.run.id))

    def _integration(self) -> Integration:
        opened, settings = self._opened, self._settings
        fence = RunFence(git=opened.git, run=opened.run.id, term=opened.term)
        queue = MergeQueue(
            opened.git,
            [self._merge_verifier(number) for number in range(1, settings.merge_parallel_checks + 1)],
            branch=opened.run.branch,
            base=opened.run.base,
            timeout_seconds=settings.check_timeout_seconds,
            guard=fence.take(),
            trusted=self._trusted,
        )
        return Integration(
            opened.stores.again(),
            queue,
            opened.git,
            run=opened.run,
            proof=self._workplace.proof(opened.run.checks),
            retry_seconds=settings.merge_retry_seconds,
        )

    def _merge_verifier(self, number: int) -> Verifier:
        return self._workplace.verifier(
            f"merge.{number}", stopping=lambda: self.is_stopping or self.integration.line_is_void
        )

    def _tidying(self) -> Tidying:
        stores = self._opened.stores.again()
        return Tidying(Removal(stores, self._opened.git, self._workplace.trees()), stores.events.record)
