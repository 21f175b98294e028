"""What all measurements share: interleaved rounds, load, gates on ratios, one JSON object at the end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordination.fsck.fsck import inspect
from coordination.protocols import PERSON
from coordination.stores import open_stores
from coordination.team_root import open_team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLACK = 1.25  # a goal is missed when the ratio is worse than the goal by more than this
DEATHS = {"member_dead", "start_left"}  # of processes that were killed, or ended without a word
TERMINATED = 128 + signal.SIGTERM
GRACE = 10.0  # seconds
BUSY = 30.0  # CPU pressure in percent above which a round says little


def exit_on_sigterm() -> None:
    """From now on SIGTERM unwinds what runs, so that nothing is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:  # noqa: ANN401 - of Popen
    """A process that is gone afterwards, however that comes."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            process.kill()  # one that has only begun heeds no signal yet


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
    was_terminated: bool = False

    def add(self, **figures: float) -> None:
        for name, value in figures.items():
            self.figures[name].append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.figures[name])

    def ratio(self, name: str, of: str, to: str) -> None:
        """The ratio of two medians, where both were measured."""
        if self.figures[of] and self.figures[to]:
            self.ratios[name] = self.median(of) / self.median(to)

    def rounds(self, count: int, work: Callable[[], None]) -> None:
        """Run so many rounds; SIGTERM ends them and what was measured is still reported."""
        exit_on_sigterm()
        try:
            for _ in range(count):
                work()
                self.pressure.append(cpu_pressure() or 0.0)
        except SystemExit:
            self.was_terminated = True

    def report(self) -> int:
        """Print the one JSON object; the exit code is 1 when a goal is missed beyond the slack, or wrong.

        It is 143 after SIGTERM.
        """
        goals = [goal for goal in self.goals if goal.name in self.ratios]
        missed = [goal.name for goal in goals if not goal.is_met(self.ratios[goal.name])]
        failed = [goal.name for goal in goals if not goal.is_met(self.ratios[goal.name], SLACK)]
        measured = {name: values for name, values in self.figures.items() if values}
        document = {
            "bench": self.name,
            "load": os.getloadavg()[0],
            "cpu_pressure": max(self.pressure, default=0.0),
            "busy": max(self.pressure, default=0.0) > BUSY,
            "medians": {name: _short(statistics.median(values)) for name, values in measured.items()},
            "best": {name: [_short(min(values)), _short(max(values))] for name, values in measured.items()},
            "ratios": {name: _short(value) for name, value in self.ratios.items()},
            "goals": {goal.name: f"{'>=' if goal.at_least else '<='} {goal.limit:g}" for goal in self.goals},
            "missed": missed,
            "failed": failed,
            "faults": self.faults,
        }
        print(json.dumps(document, indent=2))
        if self.was_terminated:
            return TERMINATED
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
