"""What a turn costs beyond the model: a whole teammate beside the bare SDK and pydantic-ai, over one server.

The time of a turn is that from the begin of an answer to the next request, as the server sees both. The
teammate is a real one with a task: journal, gates, lease, events and mail are all in it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.fixed_model import MODEL
from bench.one_task import one_task
from bench.side_by_side import Bench, Goal, broken, exit_on_sigterm, running, scratch
from orchestrator.launchers.local import teammate_command
from tests.support.team_process import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

GOALS = (
    Goal(name="turn_of_sdk", limit=2.5),
    Goal(name="turn_of_pydantic_ai", limit=1.0),
    Goal(name="turn_200_of_turn_20", limit=1.5),
)
HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers.txt"
ENVIRONMENT = HERE.parent / ".bench-peers"
WARM = 5  # turns that are not counted: connections, lazy imports
COMPARED = 60  # turns of each
LONG = 215  # of the teammate, for its growth
EARLY, LATE = range(10, 30), range(190, 210)
PATIENCE = 120.0
_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@dataclass(frozen=True, kw_only=True)
class Server:
    """The server of the model while it runs."""

    address: str

    def ask(self, path: str) -> Any:  # noqa: ANN401 - raw JSON
        with urllib.request.urlopen(f"{self.address}/{path}", timeout=PATIENCE) as answer:
            return json.load(answer)

    def turns(self, key: str) -> list[Turn]:
        times = self.ask(f"times/{key}")
        return [
            Turn(wall_ms=1e3 * (after[0] - before[1]), cpu_ms=1e3 * (after[2] - before[2]))
            for before, after in pairwise(times)
        ]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Between an answer and the next request."""

    wall_ms: float
    cpu_ms: float  # in steps of the clock of the system


@contextmanager
def serving() -> Iterator[Server]:
    command = [sys.executable, "-m", "bench.fixed_model"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running(command, cwd=HERE.parent, text=True, **pipes) as process:
        assert process.stdout
        yield Server(address=f"http://127.0.0.1:{process.stdout.readline().strip()}")


def peer(python: Path, name: str, server: Server, key: str) -> list[Turn]:
    """The turns of another loop, in its own interpreter."""
    command = [str(python), str(HERE / "loop_peers.py"), name, server.address, key]
    with running(command, cwd=HERE) as process:
        server.ask(f"watch/{key}/{process.pid}")
        if process.wait(PATIENCE):
            raise subprocess.CalledProcessError(process.returncode, command)
    return server.turns(key)


def teammate(place: Path, server: Server, key: str, turns: int) -> tuple[list[Turn], list[str]]:
    """The turns of a teammate at work on a task, and what `fsck` says afterwards."""
    with closing(Stage(place, "  - say: Done.")) as stage:
        environment = {
            **stage.environment,
            "ANTHROPIC_BASE_URL": server.address,
            "ANTHROPIC_API_KEY": key,
            "MODEL_ID": MODEL,
            "LEADHAND_TURN_MAX_ROUNDS": str(2 * turns),
        }
        command = teammate_command(stage.root, "mate")
        with one_task(stage), running(command, env=environment, **_QUIET) as worker:
            server.ask(f"watch/{key}/{worker.pid}")
            deadline = time.monotonic() + PATIENCE
            while len(server.ask(f"times/{key}")) <= turns and time.monotonic() < deadline:
                time.sleep(0.2)
        return server.turns(key)[: turns - 1], broken(stage.root)


def peers_python() -> Path | None:
    """The interpreter of the peers, installed on first use; None where that is not possible."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / PEERS.name
    if not (stamp.exists() and stamp.read_bytes() == PEERS.read_bytes()):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(PEERS)]
        if subprocess.run(install, check=False, stdout=sys.stderr).returncode:
            return None
        stamp.write_bytes(PEERS.read_bytes())
    return python


class Measurement:
    """All rounds over one server."""

    def __init__(
        self, bench: Bench, server: Server, place: Path, *, python: Path | None, quick: bool
    ) -> None:
        self._bench = bench
        self._server = server
        self._place = place
        self._python = python
        self._turns = WARM + 5 if quick else COMPARED
        self._long = self._turns if quick else LONG
        self._round = 0

    def round(self) -> None:
        self._round += 1
        for name in ("sdk", "sdk_stream"):
            self._add(name, peer(Path(sys.executable), name, self._server, self._key(name, self._turns)))
        if self._python:
            turns = peer(self._python, "pydantic_ai", self._server, self._key("pydantic_ai", self._turns))
            self._add("pydantic_ai", turns)
        where = self._place / str(self._round)
        where.mkdir()
        key = self._key("teammate", 2 * self._long)
        turns, faults = teammate(where, self._server, key, self._long)
        self._add("teammate", turns)
        self._bench.faults += faults
        if len(turns) < self._long - 1:
            self._bench.faults.append(f"the teammate came to {len(turns)} turns of {self._long}")
        elif self._long == LONG:
            early, late = ([turns[place].wall_ms for place in places] for places in (EARLY, LATE))
            self._bench.add(turn_20_ms=statistics.median(early), turn_200_ms=statistics.median(late))

    def _key(self, name: str, turns: int) -> str:
        return f"{name}-{self._round}:{turns}"

    def _add(self, name: str, turns: list[Turn]) -> None:
        counted = turns[WARM:COMPARED]
        wall, cpu = statistics.median(t.wall_ms for t in counted), statistics.fmean(t.cpu_ms for t in counted)
        self._bench.add(**{f"{name}_ms": wall, f"{name}_cpu_ms": cpu})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one short round without pydantic-ai")
    parser.add_argument("--dir", type=Path, help="where to measure; without it beside the project")
    options = parser.parse_args()
    exit_on_sigterm()
    bench, python = Bench("loop", GOALS), None if options.quick else peers_python()
    with scratch(options.dir) as place, serving() as server:
        measurement = Measurement(bench, server, place, python=python, quick=options.quick)
        bench.rounds(1 if options.quick else options.rounds, measurement.round)
    bench.ratio("turn_of_sdk", "teammate_ms", "sdk_stream_ms")
    bench.ratio("turn_of_sdk_without_stream", "teammate_ms", "sdk_ms")
    bench.ratio("turn_of_pydantic_ai", "teammate_ms", "pydantic_ai_ms")
    if not (python or options.quick):
        print(f"pydantic-ai is left out: {PEERS.name} cannot be installed here", file=sys.stderr)
    if not options.quick:  # too few turns for the steps of the system's clock
        bench.ratio("cpu_of_sdk", "teammate_cpu_ms", "sdk_stream_cpu_ms")
        bench.ratio("turn_200_of_turn_20", "turn_200_ms", "turn_20_ms")
    return bench.report()


if __name__ == "__main__":
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    sys.exit(main())
