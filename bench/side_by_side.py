"""What all measurements share: interleaved rounds, load, gates on ratios, one JSON object at the end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coordination.fsck.fsck import inspect
from coordination.protocols import PERSON
from coordination.stores import open_stores
from coordination.team_root import open_team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLACK = 1.25  # a goal is missed when the ratio is worse than the goal by more than this
DEATHS = {"member_dead", "start_left"}  # of processes that were killed, or ended without a word
BUSY = 30.0  # CPU pressure in percent above which a round says little


def cpu_pressure() -> float | None:
    """Percent of the last 10 s in which something waited for a core; None where the system does not say."""
    try:
        line = Path("/proc/pressure/cpu").read_text("utf-8").splitlines()[0]
    except OSError:
        return None
    return float(line.partition("avg10=")[2].split()[0])


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A ratio and what it should be: at least, or at most."""

    name: str
    limit: float
    at_least: bool = False

    def is_met(self, value: float, slack: float = 1.0) -> bool:
        return value >= self.limit / slack if self.at_least else value <= self.limit * slack


@dataclass
class Bench:
    """One measurement: figures by name, in rounds, and faults of correctness."""

    name: str
    goals: tuple[Goal, ...]
    figures: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ratios: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)  # a fast wrong run fails
    pressure: list[float] = field(default_factory=list)

    def add(self, **figures: float) -> None:
        for name, value in figures.items():
            self.figures[name].append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.figures[name])

    def rounds(self, count: int, work: Callable[[], None]) -> None:
        """Run so many rounds; SIGTERM ends them and what was measured is still reported."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with contextlib.suppress(SystemExit):
            for _ in range(count):
                work()
                self.pressure.append(cpu_pressure() or 0.0)

    def report(self) -> int:
        """Print the one JSON object; the exit code is 1 when a goal is missed beyond the slack, or wrong."""
        goals = [goal for goal in self.goals if goal.name in self.ratios]
        missed = [goal.name for goal in goals if not goal.is_met(self.ratios[goal.name])]
        failed = [goal.name for goal in goals if not goal.is_met(self.ratios[goal.name], SLACK)]
        document = {
            "bench": self.name,
            "load": os.getloadavg()[0],
            "cpu_pressure": max(self.pressure, default=0.0),
            "busy": max(self.pressure, default=0.0) > BUSY,
            "medians": {name: _short(statistics.median(values)) for name, values in self.figures.items()},
            "best": {
                name: [_short(min(values)), _short(max(values))] for name, values in self.figures.items()
            },
            "ratios": {name: _short(value) for name, value in self.ratios.items()},
            "goals": {goal.name: f"{'>=' if goal.at_least else '<='} {goal.limit:g}" for goal in self.goals},
            "missed": missed,
            "failed": failed,
            "faults": self.faults,
        }
        print(json.dumps(document, indent=2))
        return 1 if failed or self.faults else 0


def broken(root: Path) -> list[str]:
    """What `fsck` says against the team, but for processes that ended as they do when they only measure."""
    found = inspect(open_stores(open_team(root), PERSON))
    return [
        f"fsck: {finding.where}: {finding.what}"
        for finding in found
        if finding.counts and finding.code not in DEATHS
    ]


@contextlib.contextmanager
def scratch(place: Path | None) -> Iterator[Path]:
    """A directory on the disk that is measured: the one that holds this project, unless named."""
    where = Path(tempfile.mkdtemp(prefix=".bench-", dir=place or Path(__file__).resolve().parents[1]))
    try:
        yield where
    finally:
        shutil.rmtree(where, ignore_errors=True)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
