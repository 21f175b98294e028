"""Which tasks a member may hold: empty files made before the claim, so that no crash hides a holding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordination.team_root import Team


class TaskHoldings:
    """`<name>/<task>`; may name too much, never trusted, so that a claim need not look at the board."""

    def __init__(self, team: Team) -> None:
        self._directory = team.directory

    def add(self, name: str, task: str) -> None:
        """The name is known to try or to hold the task."""
        self._directory.touch(_path(name, task))

    def remove(self, name: str, task: str) -> None:
        self._directory.unlink(_path(name, task))

    def of(self, name: str) -> list[str]:
        """Ids of the tasks that the name may hold."""
        return [
            task for task in self._directory.names(layout.holdings(name)) if layout.TASK_ID.fullmatch(task)
        ]

    def rebuild(self, held: Iterable[tuple[str, str]]) -> None:
        """Every pair of a name and a task that it holds is known; superfluous ones may stay."""
        for name, task in held:
            if not self._directory.exists(_path(name, task)):
                self.add(name, task)


def _path(name: str, task: str) -> str:
    return f"{layout.holdings(name)}/{task}"
