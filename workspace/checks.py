"""Run the checks of a task on a clean checkout of its commit, and report what they said."""

from __future__ import annotations

import os
import select
import shutil
import subprocess  # noqa: TID251 - a check is a command of the person
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coordination.child import end_group, on_a_leash
from coordination.clock import Clock, SystemClock
from coordination.errors import TeamError
from coordination.records import CheckResult
from workspace.git_directory import WorktreeBroken, detached_head
from workspace.worktrees import check_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.git import Git

OUTPUT_BYTES = 8000  # the end of what a check printed; the reason of a failure is there
GRACE_SECONDS = 2.0  # between SIGTERM and SIGKILL to a check that ran out of time
_LOOK_SECONDS = 0.05  # how late the end of a check is seen while a child of it holds its output open
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
        clock: Clock | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`stopping` is asked many times a second while a check runs, from the thread that runs it."""
        self._git = git
        self._tree = tree
        self._environment = environment
        self._clock = clock or SystemClock()
        self._stopping = stopping

    def check_out(self, commit: str) -> Git:
        """Git on the tree, clean at the commit."""
        return check_out(self._git, self._tree, commit)

    def verify(
        self, commit: str, checks: Mapping[str, str], timeout_seconds: float, *, task: str = ""
    ) -> tuple[CheckResult, ...]:
        """The result of each check, in order; all run, whatever the ones before said.

        Raises ChecksInterrupted, TreeMoved, GitError, UnknownCommit.
        """
        if not checks:
            return ()
        commit = self._git.commit_of(commit)
        here = self.check_out(commit)
        _drop_compiled_code(self._tree)
        variables = {"LEADHAND_WORKTREE": str(self._tree), "LEADHAND_COMMIT": commit, "LEADHAND_TASK": task}
        environment = {**_NO_STALE_CODE, **self._environment, **variables}
        results = tuple(
            self._run(name, command, environment, timeout_seconds) for name, command in checks.items()
        )
        if self._stopping():
            raise ChecksInterrupted(commit=commit)
        if not _stands_at(here, commit):
            raise TreeMoved(tree=str(self._tree), commit=commit)
        return results

    def _run(
        self, name: str, command: str, environment: Mapping[str, str], timeout_seconds: float
    ) -> CheckResult:
        started = self._clock.monotonic()
        with subprocess.Popen(
            on_a_leash(command),
            cwd=self._tree,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                output, in_time = self._listen(process, started + timeout_seconds)
            finally:  # children it left behind go with it
                end_group(process.pid, self._clock, patience_seconds=GRACE_SECONDS)
        if not in_time:
            output += f"\n[stopped: not done after {timeout_seconds:g} s]".encode()
        return CheckResult(
            name=name,
            command=command,
            exit_code=process.returncode if in_time else None,
            seconds=round(self._clock.monotonic() - started, 3),
            output=output.decode("utf-8", "replace").strip(),
        )

    def _listen(self, process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
        """The end of the output, and whether the check ended in time; it has when its shell has."""
        tail = b""
        while self._clock.monotonic() < deadline and not self._stopping():
            ended = process.poll() is not None
            tail = (tail + _next_output(process))[-OUTPUT_BYTES:]
            if ended:  # a child left behind may hold the output open, and even write on
                return tail, True
        return tail, False


def _stands_at(here: Git, commit: str) -> bool:
    try:
        return detached_head(here.place) == commit
    except WorktreeBroken:
        return False


def _next_output(process: subprocess.Popen[bytes]) -> bytes:
    """What the process has printed; empty when there is nothing for a moment, or no more."""
    assert process.stdout is not None
    ready, _, _ = select.select(
        [process.stdout], [], [], 0 if process.returncode is not None else _LOOK_SECONDS
    )
    if not ready:
        return b""
    output = os.read(process.stdout.fileno(), 65536)
    if not output:  # closed, so there is only the end left to wait for
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_LOOK_SECONDS)
    return output


def _drop_compiled_code(tree: Path) -> None:
    for directory, names, _ in os.walk(tree):
        if Path(directory, "pyvenv.cfg").exists():  # an installed environment never changes its sources
            names.clear()
        if "__pycache__" in names:
            shutil.rmtree(Path(directory, "__pycache__"), ignore_errors=True)
        names[:] = [name for name in names if name not in {".git", "node_modules", "__pycache__"}]
