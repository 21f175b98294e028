"""Run the checks of a task on a clean checkout of its commit, and report what they said."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coordination.child import Confine, unconfined
from coordination.errors import TeamError
from coordination.records import CheckResult
from workspace.commands import CommandRunner
from workspace.git_directory import WorktreeBroken, detached_head
from workspace.verification_tree import check_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.git import Git
    from workspace.setup.tree_setup import TreeSetup

OUTPUT_BYTES = 8000  # the end of what a check printed; the reason of a failure is there
# Python takes compiled code for current when source size and time in whole seconds are the same, which
# two commits checked within one second can have.
_NO_STALE_CODE = {"PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(eq=False)
class TreeMoved(TeamError):
    """The verification tree was moved to another commit while the checks ran, so they prove nothing."""

    tree: str
    commit: str
    says = (
        "{tree} was moved off {commit:.10} while the checks ran; "
        "a check must not run git checkout, reset or commit in its own directory"
    )


@dataclass(eq=False)
class ChecksInterrupted(TeamError):
    """The process that runs the checks was told to stop; they say nothing."""

    commit: str
    says = "the checks of {commit:.10} were stopped before their end; run them again"


def passed(results: Sequence[CheckResult]) -> bool:
    """True when every check ended with status 0; also when there was none."""
    return all(result.exit_code == 0 for result in results)


class Verifier:
    """One verification tree, for one process at a time: give each process a tree of its own."""

    def __init__(
        self,
        git: Git,
        tree: Path,
        environment: Mapping[str, str],
        *,
        stopping: Callable[[], bool] = lambda: False,
        setup: TreeSetup | None = None,
        confine: Confine = unconfined,
    ) -> None:
        """`stopping` is asked many times a second while a check runs, from the thread that runs it.

        Without `setup` the tree is used as it is checked out.
        """
        self._git = git
        self._tree = tree
        self._environment = environment
        self._runner = CommandRunner(stopping=stopping, confine=confine)
        self._setup = setup

    @property
    def is_confined(self) -> bool:
        """True where checks run in a sandbox."""
        return self._runner.is_confined

    def check_out(self, commit: str) -> Git:
        """Git on the tree, clean at the commit."""
        return check_out(self._git, self._tree, commit)

    def verify(
        self, commit: str, checks: Mapping[str, str], timeout_seconds: float, *, task: str = ""
    ) -> tuple[CheckResult, ...]:
        """The result of each check, in order; all run, whatever the ones before said.

        Raises ChecksInterrupted, TreeMoved, GitError, UnknownCommit, and as `TreeSetup.prepare`.
        """
        if not checks:
            return ()
        commit = self._git.commit_of(commit)
        here = self.check_out(commit)
        _drop_compiled_code(self._tree)
        variables = {"LEADHAND_WORKTREE": str(self._tree), "LEADHAND_TASK": task}
        if self._setup:
            self._setup.prepare(here, task=task, checks=checks)
            variables = self._setup.variables(self._tree, task)
        environment = {**_NO_STALE_CODE, **self._environment, **variables, "LEADHAND_COMMIT": commit}
        results = tuple(
            self._run(name, command, environment, timeout_seconds) for name, command in checks.items()
        )
        if self._runner.stopping():
            raise ChecksInterrupted(commit=commit)
        if not _stands_at(here, commit):
            raise TreeMoved(tree=str(self._tree), commit=commit)
        return results

    def _run(
        self, name: str, command: str, environment: Mapping[str, str], timeout_seconds: float
    ) -> CheckResult:
        ran = self._runner.run(
            command,
            cwd=self._tree,
            environment=environment,
            timeout_seconds=timeout_seconds,
            kept=OUTPUT_BYTES,
        )
        return CheckResult(
            name=name, command=command, exit_code=ran.exit_code, seconds=ran.seconds, output=ran.output
        )


def _stands_at(here: Git, commit: str) -> bool:
    try:
        return detached_head(here.place) == commit
    except WorktreeBroken:
        return False


def _drop_compiled_code(tree: Path) -> None:
    for directory, names, _ in os.walk(tree):
        if Path(directory, "pyvenv.cfg").exists():  # an installed environment never changes its sources
            names.clear()
        if "__pycache__" in names:
            shutil.rmtree(Path(directory, "__pycache__"), ignore_errors=True)
        names[:] = [name for name in names if name not in {".git", "node_modules", "__pycache__"}]
