"""What may be claimed next: empty files that may be wrong or missing, and are never trusted."""

from __future__ import annotations

import re
import secrets
from bisect import insort
from typing import TYPE_CHECKING

from coordination import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from coordination.records import Task
    from coordination.team_root import Team

ANY_ROLE = "any"
_SPREAD = 8  # after a miss, claimers spread over so many hints; else all would run down the same row
_NAME = re.compile(r"([0-9])-[0-9]{8,}-(task_[0-9a-f]{8})")


class ReadyHints:
    """`<priority>-<place>-<id>` per role; the place is that of the task in the order of creation.

    A listing is used for as long as the profile says; what is added elsewhere is seen that much later.
    """

    def __init__(self, team: Team) -> None:
        self._mount = team.mount
        self._directory = team.directory
        self._clock = team.clock
        self._listings: dict[tuple[str, str], tuple[float, list[str]]] = {}  # time and paths, best first

    def add(self, task: Task, place: int) -> None:
        """The task is hinted at wherever those who may claim it look."""
        for path in _paths(task, place):
            self._directory.touch(path)
            for (name, role), (_, listed) in self._listings.items():
                if _row(path) in {_reserved(name), role, ANY_ROLE}:
                    insort(listed, path, key=_rank)

    def remove(self, task: Task, place: int) -> None:
        """No hint at the task as it stands is left."""
        for path in _paths(task, place):
            self._directory.unlink(path)

    def take(self, name: str, role: str) -> Iterator[str]:
        """Ids of tasks that this member may try, each taken away from all others.

        Work reserved for the name comes first, then that of the role and of any role together, by
        priority and then by age. Ends when a listing made during this call is used up.
        """
        fresh = False
        while not fresh:
            listed_at, paths = self._listings.get((name, role), (float("-inf"), []))
            if not paths or self._clock.monotonic() - listed_at > self._mount.guarantees.listing_seconds:
                fresh = True
                paths = self._list(name, role)
                self._listings[name, role] = (self._clock.monotonic(), paths)
            yield from self._take_along(paths)

    def rebuild(self, read: Callable[[], Iterable[tuple[Task, int]]]) -> None:
        """The hints are those of the tasks that `read` gives: ready ones, each with its place."""
        missing, superfluous = self.differences(read)
        for path in sorted(missing):
            self._directory.touch(path)
        for path in superfluous:
            self._directory.unlink(path)
        self._listings.clear()

    def differences(self, read: Callable[[], Iterable[tuple[Task, int]]]) -> tuple[set[str], set[str]]:
        """The hints that are missing, and those at none of the tasks that `read` gives.

        What is there is listed before reading, so that a hint added meanwhile is not taken for an old one.
        """
        found = set(self._hints_in(self._directory.names(layout.READY)))
        wanted = {path for task, place in read() for path in _paths(task, place)}
        return wanted - found, found - wanted

    def _take_along(self, paths: list[str]) -> Iterator[str]:
        missed = False
        while paths:
            path = paths.pop(_one_of_the_next(paths) if missed else 0)
            missed = not self._directory.unlink(path)
            if not missed:
                yield _task_of(path)

    def _list(self, name: str, role: str) -> list[str]:
        """Paths of all hints for this member, the best first."""
        return sorted(self._hints_in({_reserved(name), role, ANY_ROLE}), key=_rank)

    def _hints_in(self, rows: Iterable[str]) -> list[str]:
        return [
            f"{layout.ready_hints(row)}/{name}"
            for row in rows
            for name in self._directory.names(layout.ready_hints(row))
            if _NAME.fullmatch(name)
        ]


def _paths(task: Task, place: int) -> list[str]:
    rows = [_reserved(task.reserved_for)] if task.reserved_for else task.roles or [ANY_ROLE]
    return [f"{layout.ready_hints(row)}/{task.priority}-{place:08d}-{task.id}" for row in rows]


def _reserved(name: str) -> str:
    return f"~{name}"  # no role can be called so


def _row(path: str) -> str:
    return path.split("/")[-2]


def _rank(path: str) -> tuple[bool, str]:
    """Reserved work first, then by priority and place."""
    return not _row(path).startswith("~"), path.rpartition("/")[2]


def _task_of(path: str) -> str:
    return path.rpartition("-")[2]


def _one_of_the_next(paths: Sequence[str]) -> int:
    """The index of one hint, at random, among the next few of the same row and priority."""
    row, _, name = paths[0].rpartition("/")
    alike = f"{row}/{name[:2]}"
    return secrets.randbelow(sum(path.startswith(alike) for path in paths[:_SPREAD]))
