"""The settings that `init` proposes for a repository, and writes once the person has agreed."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from harness.settings.sources import SETTINGS_FILE, user_file
from workspace.setup.ecosystems import ecosystems

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.setup.ecosystems import Ecosystem


@dataclass(frozen=True, kw_only=True)
class FirstSettings:
    """What would make the project run in the trees of a team, and prove work in it."""

    found: tuple[Ecosystem, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """As they stand in `leadhand.yaml`; empty when nothing is known of the project."""
        setup = [command for one in self.found for command in one.setup]
        tested = [one for one in self.found if one.test]
        checks = {"tests" if len(tested) == 1 else f"{one.name}_tests": one.test for one in tested}
        proposed: dict[str, Any] = {"worktrees": {"setup": setup}} if setup else {}
        if checks:
            proposed |= {"checks": checks, "check": {"every_task": list(checks)}}
        return proposed

    @property
    def allow(self) -> tuple[str, ...]:
        """Rules for the same commands. A repository may not allow anything, so they are the person's."""
        return tuple(rule for one in self.found for rule in one.allow)

    @property
    def missing(self) -> tuple[str, ...]:
        """Programs that the commands need and this machine does not have."""
        programs = [one.name for one in self.found if one.name != "pip"]
        return tuple(name for name in programs if shutil.which(name) is None)

    def text(self) -> str:
        """The file, with a line that says where it comes from."""
        known_by = ", ".join(one.found for one in self.found)
        return f"# Proposed by `leadhand init` from {known_by}; see docs/worktrees.md.\n" + yaml.safe_dump(
            self.settings, sort_keys=False, allow_unicode=True, width=200
        )


def first_settings(top: Path) -> FirstSettings:
    """What can be told from the files at the top of the repository."""
    return FirstSettings(found=ecosystems(top))


def write_settings(root: Path, proposed: FirstSettings) -> bool:
    """The proposal is the team's `leadhand.yaml`; False when there is one, which stays as it is."""
    target = root / SETTINGS_FILE
    aside = root / f".{SETTINGS_FILE}.{os.getpid()}"
    aside.write_text(proposed.text(), encoding="utf-8")
    try:
        target.hardlink_to(aside)
    except FileExistsError:
        return False
    finally:
        aside.unlink()
    return True


def allow_text(proposed: FirstSettings) -> str:
    """What a person may add to the settings that are the person's alone."""
    rules = yaml.safe_dump({"permissions": {"allow": list(proposed.allow)}}, sort_keys=False)
    return f"# in {user_file()}, so that these commands need no question:\n{rules}"
