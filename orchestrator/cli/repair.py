"""The verbs that look whether a team can work here, check its directory and mend it, and try it hard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from coordination.errors import TeamError, UsageError
from orchestrator.cli.shared import (
    json_option,
    persons_stores,
    place_of,
    place_without_team,
    show,
    team_option,
)
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.finding import Finding
    from coordination.fsck.fsck import Repaired
    from coordination.stores import Stores
    from orchestrator.inspection.doctor import Point

UNFIT = 2  # exit code of a place in which no run can start
LEFT = 1  # exit code while something is wrong; notes do not count


@click.command()
@click.option(
    "--repair", "mend", is_flag=True, help="Mend what can be mended; no number and no work is removed."
)
@json_option
@team_option
def fsck(*, mend: bool, as_json: bool, team_directory: Path | None) -> int:
    """Check everything that must hold on disk; exit code 1 while an error or a warning is left."""
    from coordination.fsck.fsck import Repaired, repair

    stores = persons_stores(team_directory)
    if mend:
        done = repair(lambda: _look(stores))
    else:
        found = _look(stores)
        done = Repaired(found=found, left=found, failures=[])
    show([_row(finding, done) for finding in _all(done)], as_json, lambda: _text(done))
    return LEFT if any(finding.counts for finding in done.left) else 0


def _look(stores: Stores) -> list[Finding]:
    from coordination.fsck.fsck import inspect, looked_at
    from orchestrator.inspection.host_findings import inspect_processes, inspect_trees
    from orchestrator.inspection.memory_findings import inspect_memory
    from orchestrator.inspection.pins import inspect_pins

    return [
        *inspect(stores),
        *looked_at("the trees", lambda: inspect_trees(stores)),
        *looked_at("the processes", lambda: inspect_processes(stores)),
        *looked_at("what was pinned", lambda: inspect_pins(stores)),
        *looked_at("the memory", lambda: inspect_memory(stores.team)),
    ]


def _all(done: Repaired) -> list[Finding]:
    """What was found, and what came to light meanwhile, each once."""
    return list({_key(finding): finding for finding in (*done.found, *done.left)}.values())


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.where, finding.what


def _row(finding: Finding, done: Repaired) -> dict[str, Any]:
    return finding.to_json() | {"repaired": _key(finding) not in map(_key, done.left)}


def _text(done: Repaired) -> str:
    rows = [line for finding in _all(done) for line in _lines(_row(finding, done))]
    rows += [f"could not be repaired: {failure}" for failure in done.failures]
    left = sum(finding.counts for finding in done.left)
    rows.append(f"{left} {'finding' if left == 1 else 'findings'} left" if left else "everything holds")
    return "\n".join(rows)


def _lines(row: dict[str, Any]) -> list[str]:
    state = "repaired" if row["repaired"] else row["severity"]
    where = row["where"].replace("\n", " ")  # a name may hold anything
    lines = [f"{state}: {where}: {row['what']}", f"    why it matters: {row['why']}"]
    return lines if row["repaired"] else [*lines, f"    --repair: {row['repair']}"]


@click.command()
@json_option
@team_option
def doctor(*, as_json: bool, team_directory: Path | None) -> int:
    """Tell whether a team can work here, and what to do where not; exit code 2 while it cannot."""
    from orchestrator.inspection.doctor import Place, State, examine

    try:
        root, repository, _ = place_of(team_directory)
    except (TeamError, OSError):  # one of the points says so
        root, repository = place_without_team(team_directory)
    points = examine(Place(root=root, repository=repository))
    show([point.to_json() for point in points], as_json, lambda: "\n".join(map(_told, points)))
    return UNFIT if any(point.state is State.FAULT for point in points) else 0


def _told(point: Point) -> str:
    line = f"{point.state:<6}{point.topic:<12}{point.says}"
    return f"{line}\n{'':18}{point.remedy}" if point.remedy else line


@click.command()
@click.option("--seed", type=int, default=1, show_default=True, help="Draws the accidents.")
@click.option("--minutes", type=click.FloatRange(min=0.05), default=2.0, show_default=True, help="How long.")
@json_option
def chaos(*, seed: int, minutes: float, as_json: bool) -> int:
    """Let a scripted team work in a scratch directory under accidents of every kind.

    Processes are killed and frozen, lines torn, records planted, the disk filled, and the wall clocks of
    single processes set by an hour. Afterwards each task must be done once, each message delivered once,
    and nothing be left. The same seed draws the same accidents; whom they hit depends on the moment.
    """
    from orchestrator.chaos.chaos import run_chaos

    if not math.isfinite(minutes):
        raise UsageError(detail=f"--minutes takes a number of minutes, not {minutes}")

    def say(line: str) -> None:
        if not as_json:
            echo(line)

    counts = run_chaos(seed=seed, minutes=minutes, say=say)
    show(counts, as_json, lambda: _counted(counts))
    return LEFT if counts["faults"] else 0


def _counted(counts: dict[str, Any]) -> str:
    rows = [f"fault: {fault}" for fault in counts["faults"]]
    for name, value in counts.items():
        if name != "faults":
            text = (
                ", ".join(f"{key} {what}" for key, what in value.items())
                if isinstance(value, dict)
                else value
            )
            rows.append(f"{name.replace('_', ' ')}: {text if text != '' else 'none'}")
    return "\n".join(rows)
