"""A cold teammate to its first request, beside what `import anthropic` costs in the same round."""

from __future__ import annotations

import argparse
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
PLAYBOOK = "  - say: Done."
PATIENCE = 60.0


def import_seconds() -> float:
    """A fresh interpreter that does nothing but load the SDK."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import anthropic"], check=True)
    return time.monotonic() - begun


def teammate_seconds(place: Path) -> tuple[float, float]:
    """From the start of the process to `alive` on the roster, and to the first reply of a model."""
    with closing(Stage(place, PLAYBOOK)) as stage, one_task(stage):
        begun = time.monotonic()
        worker = subprocess.Popen(teammate_command(stage.root, "cold"), env=stage.environment, **_QUIET)
        registered = _until(lambda: _is_alive(stage)) - begun
        replied = _until(lambda: bool(stage.events("model_call"))) - begun
        worker.terminate()
        worker.wait(PATIENCE)
    return registered, replied


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
    with scratch(options.dir) as place:
        rounds = iter(range(1 if options.quick else options.rounds))

        def work() -> None:
            where = place / str(next(rounds))
            where.mkdir()
            registered, replied = teammate_seconds(where)
            bench.add(import_s=import_seconds(), registered_s=registered, first_request_s=replied)

        bench.rounds(1 if options.quick else options.rounds, work)
    bench.ratios["first_request_of_import"] = bench.median("first_request_s") / bench.median("import_s")
    bench.ratios["registered_of_import"] = bench.median("registered_s") / bench.median("import_s")
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
