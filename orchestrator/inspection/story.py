"""What happened to tasks, step by step, as their records, decisions and the audit trail tell it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from coordination.events import EventTail
from coordination.protocols import PERSON
from coordination.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from coordination.records import Task
    from coordination.tasks.store import TaskStore
    from coordination.team_root import Team

SENT_BACK = "sent_back"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of the story."""

    at: str
    by: str
    event: str
    task: str
    subject: str
    why: str
    number: int | None = None  # of the task's record; None for what is on record elsewhere


def story(team: Team, store: TaskStore, tasks: Sequence[Task]) -> list[Step]:
    """Every step of the tasks in order: their versions, decisions on plans, work that was sent back."""
    others = (*_decisions(team, store, tasks), *_sent_back(team, tasks))
    moments = [*_versions(store, tasks), *((step.at, step) for step in others)]
    return [step for _, step in sorted(moments, key=itemgetter(0))]


def _versions(store: TaskStore, tasks: Iterable[Task]) -> Iterator[tuple[str, Step]]:
    """Each with the time it stands under: no clock that jumped puts what came later before the earlier."""
    for task in tasks:
        moment = ""
        for number, version in store.history(task.id):
            moment = max(moment, version.at)
            step = Step(
                at=version.at,
                by=version.by,
                event=version.event,
                task=task.id,
                subject=task.subject,
                why=version.why or _refused_because(version) or _changed_nothing(version),
                number=number,
            )
            yield moment, step


def _changed_nothing(version: Task) -> str:
    return "no file was changed" if version.event == "merge" and version.commit == version.base else ""


def _refused_because(version: Task) -> str:
    """Why a completion was turned back, from the checks that ran then."""
    if version.event != "refuse" or version.result is None:
        return ""
    red = [check for check in version.result.checks if check.exit_code != 0]
    if not red:
        return version.result.text
    codes = ("no end in time" if check.exit_code is None else f"exit code {check.exit_code}" for check in red)
    return ", ".join(f"{check.name}: {code}" for check, code in zip(red, codes, strict=True))


def _decisions(team: Team, store: TaskStore, tasks: Iterable[Task]) -> Iterator[Step]:
    requests = Requests(team, PERSON)
    for task in tasks:
        plans = [version.plan for _, version in store.history(task.id) if version.plan]
        for request in dict.fromkeys(plan.request for plan in plans):
            if answer := requests.get(request).answer:
                yield Step(
                    at=answer.at,
                    by=answer.by,
                    event=answer.verdict,
                    task=task.id,
                    subject=task.subject,
                    why=answer.reason,
                )


def _sent_back(team: Team, tasks: Iterable[Task]) -> Iterator[Step]:
    by_id = {task.id: task for task in tasks}
    for event in EventTail(team.directory).read_new():
        task = by_id.get(str(event.get("task")))
        if event.get("action") == SENT_BACK and task:
            yield Step(
                at=str(event.get("at", "")),
                by=str(event.get("who", "")),
                event=SENT_BACK,
                task=task.id,
                subject=task.subject,
                why=f"{event.get('why', '')}; done again in {event.get('again', '')}",
            )


def held_up(team: Team) -> dict[str, str]:
    """What the merge queue last said of the tasks that it could not merge without a person."""
    events = EventTail(team.directory).read_new()
    held = (event for event in events if event.get("action") == "merge_held")
    return {str(event.get("task")): str(event.get("why", "")) for event in held}
