"""Nothing is decided by the wall clock: its times are written for people and only put in order for them."""

from __future__ import annotations

import ast
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("coordination", "harness", "workspace", "agent_worker", "orchestrator")
TIMES = {"at", "created_at", "sent_at", "updated_at"}
SHOWN_IN_ORDER = {  # lists for people; the decision beside each goes by numbers and terms
    "coordination/requests.py",  # open questions
    "coordination/runs.py",  # all runs
    "coordination/events.py",  # the audit trail
    "harness/permissions/answers.py",  # standing answers
    "orchestrator/inspection/report.py",  # the usage since the run was opened
    "orchestrator/inspection/story.py",  # what happened
    "orchestrator/cli/look.py",  # listings
    "orchestrator/demo/proof.py",  # the demo on its own machine
}
READS_IT = {
    "coordination/clock.py",
    "coordination/schedule.py",  # for what the person wants at a time of the day
    "orchestrator/cli/cron.py",  # likewise
    "orchestrator/inspection/host_findings.py",  # the age of a process, by the clock of its start
}
WRITES = {"iso", "local"}
COMPARES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def trees() -> dict[str, ast.Module]:
    paths = (path for package in PACKAGES for path in (PROJECT / package).rglob("*.py"))
    kept = (path for path in paths if "project" not in path.parts)
    return {path.relative_to(PROJECT).as_posix(): ast.parse(path.read_text("utf-8")) for path in kept}


def names_a_time(node: ast.AST) -> bool:
    """True for `x.at` and `x["at"]`; a call such as `git.at(tree)` is none."""
    called = {id(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
    return any(
        (isinstance(inner, ast.Attribute) and inner.attr in TIMES and id(inner) not in called)
        or (isinstance(inner, ast.Constant) and inner.value in TIMES)
        for inner in ast.walk(node)
    )


def puts_in_order(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return any(isinstance(operator, COMPARES) for operator in node.ops) and names_a_time(node)
    return isinstance(node, ast.keyword) and node.arg == "key" and names_a_time(node.value)


def test_times_are_compared_only_where_something_is_shown() -> None:
    found = {name for name, tree in trees().items() if any(map(puts_in_order, ast.walk(tree)))}
    assert found <= SHOWN_IN_ORDER | {"coordination/liveness.py"}, found  # liveness: seconds of its own clock


def test_the_wall_clock_is_read_only_to_be_written_down() -> None:
    read: list[str] = []
    for name, tree in trees().items():
        written = {
            id(argument)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in WRITES
            for argument in call.args
        }
        read += [
            f"{name}:{call.lineno}"
            for call in ast.walk(tree)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "now"
            and id(call) not in written
        ]
    assert [place for place in read if place.partition(":")[0] not in READS_IT] == []
