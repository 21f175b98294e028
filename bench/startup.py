"""A cold teammate to its first request, beside what `import anthropic` costs in the same round."""

from __future__ import annotations

import argparse
import compileall
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from bench.one_task import one_task
from bench.side_by_side import Bench, Goal, scratch
from coordination.records import MemberState
from orchestrator.launchers.local import teammate_command
from tests.support.team_process import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

GOALS = (
    Goal(name="first_request_of_import", limit=1.2),
    Goal(name="registered_of_import", limit=0.5),
)
_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
PROJECT = Path(__file__).resolve().parents[1]
PLAYBOOK = "  - say: Never asked."
PATIENCE = 60.0
PACKAGES = ("agent_worker", "coordination", "harness", "workspace")


def import_seconds() -> float:
    """A fresh interpreter that does nothing but load the SDK, and ends without tidying up."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import anthropic, os; os._exit(0)"], check=True)
    return time.monotonic() - begun


def teammate_seconds(place: Path) -> tuple[float, float]:
    """From the start of the process to `alive` on the roster, and to its first request to a model."""
    with closing(Stage(place, PLAYBOOK)) as stage, one_task(stage), _server() as server:
        stage.environment["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{server.getsockname()[1]}"
        begun = time.monotonic()
        worker = subprocess.Popen(teammate_command(stage.root, "cold"), env=stage.environment, **_QUIET)
        registered = _until(lambda: _is_alive(stage)) - begun
        connection, _ = server.accept()
        with connection:
            connection.recv(1)
            asked = time.monotonic() - begun
        worker.terminate()
        worker.wait(PATIENCE)
    return registered, asked


def _server() -> socket.socket:
    """Hears the first request, which nobody answers."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(PATIENCE)
    return server


def _is_alive(stage: Stage) -> bool:
    member = stage.stores.roster.member("cold")
    return member is not None and member.state is MemberState.ALIVE


def _until(condition: Callable[[], bool]) -> float:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)
    return time.monotonic()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one round, to see that it runs")
    parser.add_argument("--dir", type=Path, help="where to measure; without it beside the project")
    options = parser.parse_args()
    bench = Bench("startup", GOALS)
    for package in PACKAGES:  # as an installation has them, like the SDK
        compileall.compile_dir(PROJECT / package, quiet=1)
    with scratch(options.dir) as place:
        rounds = iter(range(1 if options.quick else options.rounds))

        def work() -> None:
            where = place / str(next(rounds))
            where.mkdir()
            registered, asked = teammate_seconds(where)
            bench.add(import_s=import_seconds(), registered_s=registered, first_request_s=asked)

        bench.rounds(1 if options.quick else options.rounds, work)
    bench.ratios["first_request_of_import"] = bench.median("first_request_s") / bench.median("import_s")
    bench.ratios["registered_of_import"] = bench.median("registered_s") / bench.median("import_s")
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
