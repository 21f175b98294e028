"""Real processes that do the same thing to a team at the same moment."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

from coordination.team_root import Team, open_team

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

PATIENCE_SECONDS = 200.0


class Contenders:
    """So many processes; `run` gives back what each reported, in the order of their places."""

    def __init__(self, team: Team, count: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._root, self._count = team.root, count

    def run(self, act: Callable[[Team, int, Barrier, Any], object], argument: Any) -> list[Any]:
        """`act(team, place, barrier, argument)` in each process; the barrier is theirs to meet at."""
        barrier = self._context.Barrier(self._count)
        reports: Queue[tuple[int, Any]] = self._context.Queue()
        processes = [
            self._context.Process(target=_contend, args=(self._root, act, place, barrier, argument, reports))
            for place in range(self._count)
        ]
        for process in processes:
            process.start()
        try:
            return [report for _, report in sorted(reports.get(timeout=PATIENCE_SECONDS) for _ in processes)]
        finally:
            for process in processes:
                process.join(5)
                process.kill()
                process.join()
                process.close()
            reports.close()


def _contend(
    root: Path,
    act: Callable[[Team, int, Barrier, Any], object],
    place: int,
    barrier: Barrier,
    argument: Any,
    reports: Queue[tuple[int, Any]],
) -> None:
    try:
        report = act(open_team(root), place, barrier, argument)
    except BaseException:
        barrier.abort()  # the others must not wait for one that is gone
        raise
    reports.put((place, report))
