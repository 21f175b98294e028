"""A state directory in which something happens between the check of a record and its link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.files import StateDirectory
from coordination.team_root import Team

if TYPE_CHECKING:
    from collections.abc import Callable


class FreezingDirectory(StateDirectory):
    """With the first record below the armed path written but not linked, `meanwhile` runs."""

    armed: str | None = None
    meanwhile: Callable[[], object]

    def _write_new(self, name: str, data: bytes, *, durable: bool) -> None:
        super()._write_new(name, data, durable=durable)
        if durable and self.armed and f"{name}/".startswith(f"{self.armed}/"):
            self.armed = None
            self.meanwhile()


def freezing(team: Team, path: str, meanwhile: Callable[[], object]) -> Team:
    """The team as a process has it that stands still before its first link below the path."""
    directory = FreezingDirectory(team.root, clock=team.clock)
    directory.armed, directory.meanwhile = path, meanwhile
    return Team(id=team.id, directory=directory, repository=team.repository, clock=team.clock)
