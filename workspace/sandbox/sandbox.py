"""The sandbox of one team on this machine: where its commands run, and how their commits come out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from coordination import layout
from coordination.child import unconfined
from workspace.commands import CommandRunner
from workspace.git import GitError
from workspace.git_directory import registered
from workspace.sandbox.home import person_home, programs, secrets
from workspace.sandbox.mounts import View, arguments
from workspace.sandbox.program import find_bubblewrap
from workspace.sandbox.taking_over import take_over
from workspace.sandbox.tree_box import TreeBox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from coordination.child import Confine
    from coordination.team_root import Team
    from workspace.git import Git

OFF = "off"  # commands run as the person
BUBBLEWRAP = "bwrap"
NETWORK = ("all", "setup", "none")  # which commands reach the network


class SandboxSettings(Protocol):
    """What the person configured; the settings of every role satisfy it."""

    @property
    def sandbox(self) -> str: ...

    @property
    def sandbox_network(self) -> str: ...

    @property
    def sandbox_readable(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What commands see beside what every command sees, and do not see although it is there."""

    shown: Sequence[str] = ()  # paths of the team's state
    is_secret: Callable[[str], bool] = lambda _: False  # by its name, at the top of checkout or team


class Sandbox:
    """Commands in it write their tree and temporary files, and see neither the team's state nor secrets."""

    def __init__(
        self, team: Team, git: Git, trees: Path, settings: SandboxSettings, sight: Sight | None = None
    ) -> None:
        """`git` is on the person's checkout, `trees` where the team's trees lie."""
        self._team = team
        self._git = git
        self._trees = trees
        self._settings = settings
        self._sight = sight or Sight()

    @property
    def is_on(self) -> bool:
        """False when the person let commands run unconfined."""
        return self._settings.sandbox != OFF

    @property
    def commands(self) -> Confine:
        """Where commands of agents and checks run; `unconfined` itself when that is as the person."""
        return self._confined(network=self._settings.sandbox_network == NETWORK[0])

    @property
    def setup(self) -> Confine:
        """The same for set-up commands and servers, which mostly need the network."""
        return self._confined(network=self._settings.sandbox_network in NETWORK[:2])

    def take_over(self, here: Git) -> None:
        """What was committed in the tree is the repository's. Raises NotTakenOver, SandboxMissing."""
        if self.is_on:
            take_over(here, TreeBox(here.place), CommandRunner(confine=self._confined(network=False)))

    def _confined(self, *, network: bool) -> Confine:
        return partial(self._confine, network=network) if self.is_on else unconfined

    def _confine(self, command: Sequence[str], cwd: Path, /, *, network: bool) -> list[str]:
        box = self._box(cwd)
        if box:
            box.make_ready(self._identity)
        options = arguments(self._view(), box, cwd, network=network)
        return [self._program, *options, "--", *command]

    @cached_property
    def _program(self) -> str:
        return find_bubblewrap(self._git.place.common.parent)

    @cached_property
    def _identity(self) -> dict[str, str]:
        """What the person's own configuration says that commits inside need too."""
        found = {"safe.directory": "*"}
        for key in ("user.name", "user.email", "init.defaultBranch"):
            try:
                found[key] = self._git.run("config", "--get", key)
            except GitError:  # not set
                continue
        return found

    def _box(self, cwd: Path) -> TreeBox | None:
        """The box of the tree of this team that holds the directory; None in the person's checkout."""
        here, trees = Path(os.path.realpath(cwd)), Path(os.path.realpath(self._trees))
        if not here.is_relative_to(trees) or here == trees:
            return None
        return TreeBox(registered(self._git.place.common, trees / here.relative_to(trees).parts[0]))

    def _view(self) -> View:
        home, place, root = person_home(), self._git.place, self._team.root
        asked = (Path(os.path.realpath(Path(text).expanduser())) for text in self._settings.sandbox_readable)
        state = (root / name for name in layout.TOP_LEVEL)
        shown = _real(place.tree, place.common, root)
        return View(
            home=home,
            programs=[*programs(home, os.environ.get("PATH", "")), *asked],
            shown=shown,
            hidden=_real(*state, self._trees, *secrets(home, shown), *self._secrets()),
            shown_in_hidden=_real(*(root / path for path in self._sight.shown)),
        )

    def _secrets(self) -> Iterator[Path]:
        """Files with credentials at the top of checkout and team root."""
        for top in {self._git.place.tree, self._team.root}:
            yield from (path for path in top.iterdir() if self._sight.is_secret(path.name))


def _real(*places: Path) -> list[Path]:
    return list(dict.fromkeys(Path(os.path.realpath(place)) for place in places))
