"""Whether the demo really did what it is to show, read from the disk."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from coordination.events import EventTail
from coordination.protocols import Kind
from coordination.records import Status, Verdict
from orchestrator.inspection.report import make_report

if TYPE_CHECKING:
    from coordination.records import Run, Task
    from coordination.stores import Stores

WORKERS = 3
ASKED = {("docs", "search"), ("docs", "get_version"), ("deploy", "status")}


def missing(stores: Stores, run: Run) -> list[str]:
    """What did not happen, a sentence each; empty when all did."""
    tasks = stores.tasks.all(run.id)
    histories = {task.id: [version for _, version in stores.tasks.history(task.id)] for task in tasks}
    report = make_report(stores.team, stores.tasks, run)
    happened = {
        "every task completed and merged": report.is_whole and bool(tasks),
        "three workers at the same time in three worktrees": _most_at_once(histories) >= WORKERS,
        "a plan rejected, revised and approved": _has_plan_story(stores, tasks),
        "a killed worker's task gone on with in its own tree, or taken back and completed by another": any(
            _outlives_its_holder(versions) for versions in histories.values()
        ),
        "a false 'done' caught by the checks": any(task.refusals for task in tasks),
        "search and version from one MCP server; status, and never trigger, from the other": _asked_servers(
            stores
        ),
        "usage of the lead and of each worker": len(report.usage) > WORKERS,
    }
    return [what for what, did in happened.items() if not did]


def _asked_servers(stores: Stores) -> bool:
    events = EventTail(stores.team.directory).read_new()
    called = {(event["server"], event["tool"]) for event in events if event["action"] == "mcp_called"}
    refused = {event["tool"] for event in events if event["action"] == "tool_refused"}
    return called == ASKED and "mcp__deploy__trigger" in refused


def _most_at_once(histories: dict[str, list[Task]]) -> int:
    """The largest number of different owners who held different trees at one moment."""
    versions = ((version.at, task, version) for task, of in histories.items() for version in of)
    moments = sorted(versions, key=itemgetter(0))  # those of one task stay in order
    held: dict[str, str] = {}
    most = 0
    for _, task, version in moments:
        held.pop(task, None)
        if version.status is Status.IN_PROGRESS and version.owner and version.event != "claim":
            held[task] = version.owner
        most = max(most, len(set(held.values())))
    return most


def _outlives_its_holder(versions: list[Task]) -> bool:
    if any(version.event == "resume" for version in versions):
        return versions[-1].status is Status.COMPLETED
    taken_from = [before.owner for before, after in pairwise(versions) if after.event == "reclaim"]
    return (
        bool(taken_from) and versions[-1].status is Status.COMPLETED and versions[-1].owner not in taken_from
    )


def _has_plan_story(stores: Stores, tasks: list[Task]) -> bool:
    for task in tasks:
        versions = [version for _, version in stores.tasks.history(task.id)]
        requests = dict.fromkeys(version.plan.request for version in versions if version.plan)
        answers = [stores.requests.get(request) for request in requests]
        verdicts = [
            asked.answer.verdict for asked in answers if asked.answer and asked.question.kind == Kind.PLAN
        ]
        if verdicts[:1] == [Verdict.DENY] and verdicts[-1:] == [Verdict.APPROVE]:
            return True
    return False
