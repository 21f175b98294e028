"""Inspect every numbered log: records that do not count, numbers that were lost, names that are none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from coordination import layout
from coordination.background import JOB
from coordination.errors import InvalidRecord, NewerFormat, NotRegularFile, StateUnreadable
from coordination.finding import Finding, error, note, warning
from coordination.keys import NAME as KEYS_NAME
from coordination.keys import KeyRules
from coordination.leadership import TermRules
from coordination.member_rules import RESERVED
from coordination.numbered_log import LogKind, NumberedLog, unseal
from coordination.pause import PauseRules
from coordination.profile import ProfileRules
from coordination.records import MemberState, Status, Task
from coordination.requests import request_kind
from coordination.roster import GONE, MEMBER
from coordination.runs import RUN
from coordination.schedule_rules import ENTRY, occurrence_kind
from coordination.tasks.graph import LOG_NAME, GraphRules
from coordination.tasks.rules import Event
from coordination.tasks.validity import TASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordination.files import StateDirectory
    from coordination.numbered_log import LogRules
    from coordination.stores import Stores
    from coordination.tasks.board import TaskBoard

FILL = 100  # so many lost numbers in a row are filled; a number far ahead is no loss but a plant
WHY = "fsck: said again above a record that does not count"
# What may be said again of a task without changing it.
_SAID_AGAIN = {
    Status.HELD: Event.EDIT,
    Status.PENDING: Event.EDIT,
    Status.IN_PROGRESS: Event.BIND,
    Status.COMPLETED: Event.MERGE,
}


@dataclass(frozen=True, kw_only=True)
class _Place:
    """One log, and how its newest state is said again as the next number."""

    log: NumberedLog[Any]
    say_again: Callable[[Any], Callable[[], object] | None] | None = None

    def again(self) -> Callable[[], object] | None:
        """What says the state again, where there is one and that changes nothing."""
        return self.say_again(self.log.state) if self.say_again and self.log.state is not None else None


def inspect_logs(stores: Stores, board: TaskBoard) -> Iterator[Finding]:
    """What is wrong with the numbers of the team."""
    directory = stores.team.directory
    for place in _places(stores, board):
        yield from _inspect(directory, place)
    for kind, what in _things(stores):
        yield from _foreign(directory, kind, what)
    for key in MEMBER.found(directory):
        if key in RESERVED:
            yield warning(
                "reserved_name",
                layout.member_log(key),
                f"a member called {key}",
                why="the name means somebody else, so its mail and tasks are in doubt",
            )


def _things(stores: Stores) -> tuple[tuple[LogKind[Any], str], ...]:
    """The kinds of logs, and what a name is that is none of theirs."""
    return (
        (TASK, "no task has such an id"),
        (request_kind(stores.team.id, stores.keys), "no question has such an id"),
        (RUN, "no run has such an id"),
        (ENTRY, "no schedule has such an id"),
        (JOB, "no background command has such an id"),
        (MEMBER, "no member has such a name, nor a beat"),
    )


_BEAT = re.compile(r".*~[0-9]+\.beat")


def _foreign(directory: StateDirectory, kind: LogKind[Any], what: str) -> Iterator[Finding]:
    for name in directory.names(kind.parent):
        is_known = kind.ids.fullmatch(name) or (kind is MEMBER and _BEAT.fullmatch(name))
        if not is_known and not name.startswith(layout.TEMPORARY):
            yield warning("foreign_name", f"{kind.parent}/{name}", what, why=_NEVER_READ)


_NEVER_READ = "nobody will ever read it; move it away"


def _places(stores: Stores, board: TaskBoard) -> Iterator[_Place]:
    directory = stores.team.directory
    alone: dict[str, tuple[str, LogRules[Any]]] = {
        "profile/mount": (layout.PROFILE_LOG, ProfileRules()),
        "pause/team": (layout.PAUSE, PauseRules()),
        "lead/terms": (layout.LEAD_LOG, TermRules()),
        LOG_NAME: (layout.GRAPH_LOG, GraphRules()),
        KEYS_NAME: (layout.KEYS_LOG, KeyRules(stores.team.id, stores.keys.first)),
    }
    again: dict[str, Callable[[Any], Callable[[], object] | None]] = {
        LOG_NAME: lambda _: board.graph.begin_term,
        MEMBER.name: lambda member: _member(stores, member),
        RUN.name: lambda run: lambda: stores.runs.update(run.id),
        TASK.name: lambda task: _task(board, task),
    }
    for name, (path, rules) in alone.items():
        yield _Place(log=NumberedLog(directory, path, name=name, rules=rules), say_again=again.get(name))
    kinds: list[LogKind[Any]] = [kind for kind, _ in _things(stores)]
    for kind in (*kinds, *map(occurrence_kind, ENTRY.found(directory))):
        for key in kind.found(directory):
            yield _Place(log=kind.open(directory, key), say_again=again.get(kind.name))


def _member(stores: Stores, member: Any) -> Callable[[], object] | None:  # noqa: ANN401 - the state of a log
    if member.state in GONE or member.state is MemberState.SUPERSEDED:
        return None
    return lambda: stores.roster.update(member.name, None)


def _task(board: TaskBoard, task: Any) -> Callable[[], object] | None:  # noqa: ANN401 - the state of a log
    if task.status not in _SAID_AGAIN or task.id not in board.graph.state.tasks:
        return None

    def step(task: Task, _: int) -> Task:
        return structs.replace(task, event=_SAID_AGAIN[task.status], why=WHY)

    return lambda: board.change(task.id, step)


def _inspect(directory: StateDirectory, place: _Place) -> Iterator[Finding]:
    log = place.log
    try:
        log.refresh()
        lost = _lost(directory, log)
    except (NewerFormat, StateUnreadable) as problem:
        yield error(problem.reason, log.path, str(problem), why="what it holds cannot be taken into account")
        return
    yield from _invalid(place)
    for name in directory.names(log.path):
        where = f"{log.path}/{name}"
        is_known = layout.RECORD_NAME.fullmatch(name) or where in _beside(log.path.rpartition("/")[2])
        if not is_known and not name.startswith(layout.TEMPORARY):
            yield warning("foreign_name", where, "no name of a record", why=_NEVER_READ)
    for number, genuine in lost.items():
        yield _beyond(place, number, genuine=genuine)


def _beside(name: str) -> set[str]:
    """What else may lie in the directory of a log of this name."""
    return {layout.report(name), layout.occurrences(name)}


def _invalid(place: _Place) -> Iterator[Finding]:
    log = place.log
    again = place.again()
    for number, reason in log.invalid.items():
        where = layout.record(log.path, number)
        if number < log.number or again is None:
            yield note(
                "invalid_record", where, f"does not count: {reason}", why="it keeps its number, no more"
            )
        else:
            yield warning(
                "invalid_record",
                where,
                f"does not count: {reason}",
                why="if it was genuine once, what it said is lost",
                repair="says the newest valid state again above it; the record stays",
                mend=again,
            )


def _lost(directory: StateDirectory, log: NumberedLog[Any]) -> dict[int, bool]:
    """The numbers above a free one, each with whether its record is a genuine one of this log."""
    matches = (layout.RECORD_NAME.fullmatch(name) for name in directory.names(log.path))
    numbers = sorted(int(match[1]) for match in matches if match)
    log.refresh()  # what came while we looked
    return {number: _is_genuine(directory, log, number) for number in numbers if number > log.top}


def _is_genuine(directory: StateDirectory, log: NumberedLog[Any], number: int) -> bool:
    path = layout.record(log.path, number)
    try:
        unseal(log.name, number, directory.read_patiently(path), path)
    except (InvalidRecord, NotRegularFile):
        return False
    return True


def _beyond(place: _Place, number: int, *, genuine: bool) -> Finding:
    log = place.log
    where, free = layout.record(log.path, number), log.top + 1
    what = f"stands above the free number {free}"
    if not genuine or number - free > FILL:
        return note(
            "above_free_number", where, what, why="it does not count, and will be judged when reached"
        )
    again = place.again()
    return error(
        "above_free_number",
        where,
        f"{what}, yet it is a genuine record",
        why="a record below it was lost, and with it what this one says",
        repair="says the newest valid state again on the free numbers"
        if again
        else "nothing; restore the file",
        mend=again and (lambda: _fill(place, again, number)),
    )


def _fill(place: _Place, again: Callable[[], object], number: int) -> None:
    while place.log.top < number - 1:
        before = place.log.top
        again()
        place.log.refresh()
        if place.log.top == before:
            return
