"""Make a project run in a tree: included files, set-up commands, a look at what its checks would test."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from coordination import layout
from coordination.child import Confine, tool_environment, unconfined
from coordination.errors import TeamError
from coordination.json_form import scrub
from workspace.commands import CommandRunner
from workspace.setup.checkout import Checkout
from workspace.setup.include import copy_included
from workspace.setup.ports import Ports
from workspace.setup.wrong_checkout import find_wrong_checkout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from coordination.team_root import Team
    from workspace.commands import Ran
    from workspace.git import Git

TAIL_LINES = 15  # of a failed command, in the error; the whole log is in a file
KEPT_BYTES = 1_000_000  # of the output of one command, in that file
_STAMP = "leadhand-setup"  # beside HEAD and index of the tree
# What a package manager reads: when one of these changes, an environment may be out of date.
_MANIFESTS = re.compile(
    r"pyproject\.toml|setup\.(py|cfg)|requirements.*\.(txt|in)|Pipfile(\.lock)?|[a-z]+\.lock|"
    r"package(-lock)?\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|Cargo\.(toml|lock)|go\.(mod|sum|work)|"
    r"Gemfile(\.lock)?|composer\.(json|lock)|\.(python|node)-version|\.nvmrc|\.tool-versions|Makefile"
)


@dataclass(eq=False)
class SetupFailed(TeamError):
    """A set-up command of the person failed in a tree."""

    command: str
    exit_code: int | None
    tail: str
    log: str

    def __str__(self) -> str:
        """What failed, what was printed at last, and where the rest is."""
        how = "did not end in time" if self.exit_code is None else f"ended with exit code {self.exit_code}"
        said = f":\n{self.tail}" if self.tail else " and printed nothing"
        return (
            f"set-up failed, `{self.command}` {how}{said}\n(all of it is in {self.log}; mend worktrees.setup)"
        )


@dataclass(eq=False)
class SetupInterrupted(TeamError):
    """The process was told to stop while it made a tree ready."""

    says = "the set-up was stopped before its end; it starts again with the next claim"


class SetupSettings(Protocol):
    """What the person configured; the settings of every role satisfy it."""

    @property
    def setup(self) -> tuple[str, ...]: ...

    @property
    def setup_timeout_seconds(self) -> float: ...

    @property
    def wrong_checkout(self) -> str: ...

    @property
    def environment_pass(self) -> tuple[str, ...]: ...


class TreeSetup:
    """Makes ready one tree after another; an object belongs to one thread, and its ports to its trees."""

    def __init__(
        self,
        team: Team,
        main: Git,
        settings: SetupSettings,
        *,
        stopping: Callable[[], bool] = lambda: False,
        refresh: bool = False,
        confine: Confine = unconfined,
    ) -> None:
        """`main` is git on the person's checkout.

        `refresh` is for trees in which nobody works: older copies of included files are written over.
        """
        self._refresh = refresh
        self._team = team
        self._main = main
        self._settings = settings
        self._runner = CommandRunner(stopping=stopping, confine=confine)
        self._ports = Ports()

    def variables(self, tree: Path, task: str) -> dict[str, str]:
        """What commands in this tree find in their environment. Raises NoPortsFree."""
        ports = self._ports.get()
        return {
            "LEADHAND_WORKTREE": str(tree),
            "LEADHAND_TASK": task,
            "LEADHAND_REPOSITORY": str(self._main.place.tree),
            "LEADHAND_PORT": str(ports.start),
            "LEADHAND_PORTS": str(len(ports)),
        }

    def prepare(self, here: Git, *, task: str, checks: Mapping[str, str]) -> None:
        """The project runs in the tree, and `checks` test this tree and no other.

        Nothing is done again in a tree that was made ready before, while neither the set-up nor what
        a package manager reads has changed. Raises SetupFailed, SetupInterrupted, WrongCheckout,
        CannotInclude, NoPortsFree, GitError.
        """
        names = copy_included(self._main, here.place.tree, refresh=self._refresh)
        wanted = self._wanted(here, names, checks)
        stamp = here.place.own / _STAMP
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
            return
        environment = {
            **tool_environment(passed=self._settings.environment_pass),
            **self.variables(here.place.tree, task),
        }
        self._run_all(here.place.tree, environment)
        if self._settings.wrong_checkout == "refuse":
            place = Checkout(tree=here.place.tree, common=here.place.common)
            find_wrong_checkout(place, checks, environment, self._runner)
        stamp.write_text(wanted, encoding="utf-8")

    def _run_all(self, tree: Path, environment: Mapping[str, str]) -> None:
        log = layout.setup_log(tree.name)
        printed: list[str] = []
        for command in self._settings.setup:
            ran = self._runner.run(
                command,
                cwd=tree,
                environment=environment,
                timeout_seconds=self._settings.setup_timeout_seconds,
                kept=KEPT_BYTES,
            )
            printed.append(f"$ {command}\n{ran.output}\n[exit code {ran.exit_code}, {ran.seconds:g} s]\n")
            self._team.directory.replace(log, scrub("\n".join(printed)).encode("utf-8"))
            if self._runner.stopping():
                raise SetupInterrupted
            if ran.exit_code != 0:
                raise _failed(command, ran, log)

    def _wanted(self, here: Git, included: tuple[str, ...], checks: Mapping[str, str]) -> str:
        """A digest of all that a set-up depends on."""
        configured = (self._settings.setup, self._settings.wrong_checkout, sorted(checks.items()))
        parts = [repr(configured), *self._marks(included)]
        for entry in here.run("ls-files", "--stage", "-z").split("\0"):
            mode, _, name = entry.partition("\t")
            if _MANIFESTS.fullmatch(PurePosixPath(name).name):
                parts.append(f"{mode} {name}")
        return hashlib.sha256("\0".join(map(scrub, parts)).encode("utf-8")).hexdigest()

    def _marks(self, included: tuple[str, ...]) -> list[str]:
        """Size and time of each included file in the person's checkout: a copy may be out of date."""
        marks = []
        for name in included:
            try:
                found = (self._main.place.tree / name).lstat()
            except OSError:  # gone meanwhile
                continue
            marks.append(f"{name} {found.st_size} {found.st_mtime_ns}")
        return marks


def _failed(command: str, ran: Ran, log: str) -> SetupFailed:
    tail = "\n".join(ran.output.splitlines()[-TAIL_LINES:])
    return SetupFailed(command=command, exit_code=ran.exit_code, tail=tail, log=log)
