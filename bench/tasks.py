"""Tasks side by side with a SQLite board (WAL, FULL) and with bare commits by link, all durable.

`python -m bench.tasks` prints one JSON object: how claim, next claim, completion and lease check grow
with the board, and what 8 processes claim and complete together. Counts what is claimed twice, claimed
too early or lost.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import shutil
import statistics
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench.boards import CLAIMERS, PEERS, RESULT, Leadhand, Peer, layered
from bench.side_by_side import Bench, Goal, scratch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.queues import Queue
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

OPERATIONS = ("claim", "next_claim", "complete", "lease_check")
GOALS = (
    *(Goal(name=f"{operation}_slope", limit=0.1) for operation in OPERATIONS),
    Goal(name="pairs_of_sqlite", limit=0.4, at_least=True),
    Goal(name="p99_of_sqlite_worst_wait", limit=0.1),
    Goal(name="least_share", limit=0.5, at_least=True),
    Goal(name="wasted_commits", limit=0.1),
)
SHARED_BOARD = 4000  # tasks for the claimers together
FORKS = multiprocessing.get_context("fork")
PATIENCE = 60.0


# 8 processes on one board


def _claim(
    peer: Peer,
    claimer: int,
    left: Synchronized[int],
    go: Event,
    out: Queue[tuple[list[int], list[float], int, int]],
) -> None:
    peer.open(claimer)
    out.put(([], [], 0, 0))
    go.wait(PATIENCE)
    claimed: list[int] = []
    waits: list[float] = []
    while _one_less(left):
        started = time.perf_counter()
        while (task := peer.claim_next()) is None:
            time.sleep(0.002)
        between = time.perf_counter()
        peer.complete()
        claimed.append(task)
        waits += [between - started, time.perf_counter() - between]
    directory = peer.directory
    out.put((claimed, waits, directory.tried if directory else 0, directory.lost if directory else 0))
    out.close()
    out.join_thread()
    os._exit(0)


def _one_less(left: Synchronized[int]) -> bool:
    """One pair of the common work is the caller's to do."""
    with left.get_lock():
        left.value -= 1
        return left.value >= 0


def claim_together(bench: Bench, kind: str, place: Path, *, pairs: int) -> None:
    """Pairs per second, the waits for one commit, the shares, and the commits in vain go to the figures."""
    peer = PEERS[kind](place)
    go, out, left = FORKS.Event(), FORKS.Queue(), FORKS.Value("i", pairs)
    processes = [FORKS.Process(target=_claim, args=(peer, n, left, go, out)) for n in range(CLAIMERS)]
    for process in processes:
        process.start()
    for _ in processes:
        out.get(timeout=PATIENCE)
    os.sync()  # what setting up left behind is not measured
    started = time.perf_counter()
    go.set()
    reports = [out.get(timeout=PATIENCE) for _ in processes]
    elapsed = time.perf_counter() - started
    for process in processes:
        process.join(PATIENCE)
    claimed = [task for report in reports for task in report[0]]
    waits = sorted(wait for report in reports for wait in report[1])
    shares = [len(report[0]) for report in reports]
    twice = len(claimed) - len(set(claimed))
    bench.faults += [f"{kind}: {twice} tasks claimed twice"] * bool(twice)
    bench.faults += [f"{kind}: {fault}" for fault in peer.faults(claimed)]
    bench.add(
        **{
            f"{kind}_pairs_per_s": len(claimed) / elapsed,
            f"{kind}_wait_p50_ms": 1e3 * statistics.median(waits),
            f"{kind}_wait_p99_ms": 1e3 * waits[int(len(waits) * 0.99)],
            f"{kind}_wait_worst_ms": 1e3 * waits[-1],
            f"{kind}_least_share": min(shares) / statistics.mean(shares),
        }
    )
    if tried := sum(report[2] for report in reports):
        bench.add(wasted_commits=sum(report[3] for report in reports) / tried)


# one process, boards of every size


class Board:
    """A board of so many tasks, made anew when too few are left."""

    def __init__(self, place: Path, tasks: int) -> None:
        self._place, self.tasks = place, tasks
        self._made = 0
        self._make()

    def _make(self) -> None:
        place = self._place / f"board-{self.tasks}-{self._made}"
        place.mkdir(parents=True)
        self._peer = Leadhand(place)
        self._peer.plan(layered(self.tasks))
        self._made += 1
        self._peer.open(1)
        assert self._peer.directory
        self._left = self.tasks
        self._measure_once()  # what a process reads when it starts is no cost of a claim

    def figures(self, repeats: int) -> dict[str, list[float]]:
        """Milliseconds of each operation."""
        found: dict[str, list[float]] = {operation: [] for operation in OPERATIONS}
        for _ in range(repeats):
            if self._left < self.tasks // 2:
                self._make()
            for operation, seconds in self._measure_once().items():
                found[operation] += [1e3 * second for second in seconds]
        return found

    def _measure_once(self) -> dict[str, list[float]]:
        store, claimant = self._peer.store, self._peer.claimant
        self._left -= 2
        started = time.perf_counter()
        first = store.claim_next(claimant)
        next_claim = time.perf_counter() - started
        assert first
        complete = self._complete(first.id, first.token)
        ready = next(iter(store._board.hints._list(claimant.name, claimant.role)))  # noqa: SLF001
        task = ready.rpartition("-")[2]
        started = time.perf_counter()
        second = store.claim(task, claimant)
        claim = time.perf_counter() - started
        started = time.perf_counter()
        assert store.is_held(second.id, second.token or 0)
        lease_check = time.perf_counter() - started
        return {
            "claim": [claim],
            "next_claim": [next_claim],
            "complete": [complete, self._complete(second.id, second.token)],
            "lease_check": [lease_check],
        }

    def _complete(self, task: str, token: int | None) -> float:
        started = time.perf_counter()
        self._peer.store.complete(task, token or 0, commit="c0ffee", branch="b", result=RESULT)
        return time.perf_counter() - started


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the line through the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (statistics.mean(axis) for axis in zip(*logs, strict=True))
    rise = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return float(rise / sum((x - mean_x) ** 2 for x, _ in logs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--pairs", type=int, default=800, help="claims and completions of 8 processes together"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--repeats", type=int, default=20, help="of each operation, size and round")
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it runs")
    parser.add_argument("--dir", type=Path, help="where to measure; without it beside the project")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.pairs, options.sizes, options.repeats = 1, 80, [20, 200], 5
    bench = Bench("tasks", GOALS)
    with scratch(options.dir) as place:
        _measure(bench, place, options)
    return bench.report()


def _measure(bench: Bench, place: Path, options: argparse.Namespace) -> None:
    boards = [Board(place, size) for size in options.sizes]
    shared = 200 if options.quick else SHARED_BOARD
    templates = {kind: place / f"template-{kind}" for kind in PEERS}
    for kind, template in templates.items():
        template.mkdir()
        PEERS[kind](template).plan(layered(shared))
    numbers = count()

    def work() -> None:
        for _ in range(options.repeats):
            for board in boards:
                for operation, values in board.figures(1).items():
                    bench.figures[f"{operation}_{board.tasks}_ms"] += values
        for kind, template in templates.items():
            copy = place / f"{kind}-{next(numbers)}"
            shutil.copytree(template, copy, copy_function=shutil.copy2 if kind == "sqlite" else os.link)
            claim_together(bench, kind, copy, pairs=options.pairs)
            shutil.rmtree(copy)

    bench.rounds(options.rounds, work)
    with suppress(statistics.StatisticsError):  # ended before there was a round
        _compare(bench, options.sizes)


def _compare(bench: Bench, sizes: Sequence[int]) -> None:
    for operation in OPERATIONS:
        points = [(float(size), bench.median(f"{operation}_{size}_ms")) for size in sizes]
        bench.ratios[f"{operation}_slope"] = slope(points)
    ours = bench.median("leadhand_pairs_per_s")
    bench.ratios["pairs_of_sqlite"] = ours / bench.median("sqlite_pairs_per_s")
    bench.ratios["pairs_of_raw"] = ours / bench.median("raw_pairs_per_s")
    p99 = bench.median("leadhand_wait_p99_ms")
    bench.ratios["p99_of_sqlite_p99"] = p99 / bench.median("sqlite_wait_p99_ms")
    bench.ratios["p99_of_sqlite_worst_wait"] = p99 / bench.median("sqlite_wait_worst_ms")
    bench.ratios["least_share"] = bench.median("leadhand_least_share")
    bench.ratios["wasted_commits"] = bench.median("wasted_commits")


if __name__ == "__main__":
    sys.exit(main())
