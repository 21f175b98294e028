"""The numbered log of the runs and tasks that exist and of the verdicts on edges between tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.numbered_log import NumberedLog, Record
from coordination.protocols import term_to_write
from coordination.records import JsonRecord
from coordination.tasks.rules import cycle_among, find_cycle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from coordination.team_root import Team

LOG_NAME = "graph/tasks"


class EntryKind(StrEnum):
    TASKS = "tasks"  # these tasks exist from now on
    EDGE = "edge"  # the verdict on one edge
    RUN = "run"  # this run exists from now on
    TERM = "term"  # a new lead closes the log to the one before it


class GraphVerdict(StrEnum):
    ADD = "add"
    REFUSE = "refuse"


class GraphEntry(JsonRecord, frozen=True, kw_only=True):
    """One record of the graph."""

    kind: EntryKind
    # new ids in order, each with what it needs
    tasks: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    edge: str | None = None
    task: str | None = None
    needs: str | None = None
    verdict: GraphVerdict | None = None
    run: str | None = None
    why: str = ""
    by: str = ""
    term: int = 0
    at: str = ""


@dataclass(kw_only=True)
class GraphState:
    """The fold of the log."""

    tasks: dict[str, int] = field(default_factory=dict)  # id to place in the order of creation
    needs: dict[str, list[str]] = field(default_factory=dict)
    dependents: dict[str, list[str]] = field(default_factory=dict)
    verdicts: dict[str, bool] = field(default_factory=dict)  # edge id to added
    runs: dict[str, int] = field(default_factory=dict)  # id to term, in the order in which they were opened
    term: int = 0


@dataclass(eq=False)
class IdTaken(TeamError):
    """Another process announced a task with the same id a moment before."""

    task: str
    says = "the id {task} is taken; draw another one"


@dataclass(eq=False)
class _AlreadyJudged(TeamError):
    """Another process gave the verdict first."""

    added: bool


class GraphRules:
    """What a record of the graph must satisfy, and what all of them add up to."""

    def check(self, state: GraphState | None, record: Record) -> None:
        entry, graph = GraphEntry.from_json(record.body), state or GraphState()
        if entry.term < graph.term:
            raise InvalidRecord(why=f"its term {entry.term} is older than {graph.term}")
        if entry.kind is EntryKind.TASKS:
            _check_tasks(graph, entry)
        elif entry.kind is EntryKind.EDGE:
            _check_edge(graph, entry)
        elif entry.kind is EntryKind.RUN:
            _check_run(graph, entry)

    def apply(self, state: GraphState | None, record: Record) -> GraphState:
        entry, graph = GraphEntry.from_json(record.body), state or GraphState()
        graph.term = entry.term
        for task, needs in entry.tasks.items():
            graph.tasks[task] = len(graph.tasks)
            for need in needs:
                _join(graph, task, need)
        if entry.edge and entry.task and entry.needs:
            added = entry.verdict is GraphVerdict.ADD
            graph.verdicts[entry.edge] = added
            if added and entry.needs not in graph.needs.get(entry.task, ()):
                _join(graph, entry.task, entry.needs)
        if entry.run:
            graph.runs[entry.run] = entry.term
        return graph


class TaskGraph:
    """Which runs and tasks exist, in order of creation, and which task needs which."""

    def __init__(self, team: Team, actor: str, term: Callable[[], int] = lambda: 0) -> None:
        self._log = NumberedLog(team.directory, layout.GRAPH_LOG, name=LOG_NAME, rules=GraphRules())
        self._clock, self._actor, self._term = team.clock, actor, term

    @property
    def state(self) -> GraphState:
        """What all committed so far; costs one failing look when nothing is new."""
        return self._log.refresh() or GraphState()

    def add(self, tasks: Mapping[str, Sequence[str]]) -> None:
        """The tasks exist for the team, each with its needs, by one record. Raises IdTaken."""

        def draft(state: GraphState | None, _: int) -> dict[str, Any]:
            for task in tasks:
                if state and task in state.tasks:
                    raise IdTaken(task=task)
            entry = GraphEntry(
                kind=EntryKind.TASKS, tasks={task: tuple(needs) for task, needs in tasks.items()}
            )
            return self._signed(entry, state)

        self._log.commit(draft)

    def add_run(self, run: str) -> None:
        """The run exists for the team. Raises TermOver."""
        self._log.commit(lambda state, _: self._signed(GraphEntry(kind=EntryKind.RUN, run=run), state))

    def propose(self, edge: str, task: str, needs: str) -> bool:
        """The edge has a verdict: True when it was added. The first verdict on an edge id stands."""

        def draft(state: GraphState | None, _: int) -> dict[str, Any]:
            graph = state or GraphState()
            if edge in graph.verdicts:
                raise _AlreadyJudged(added=graph.verdicts[edge])
            why = objection(graph, task, needs)
            verdict = GraphVerdict.REFUSE if why else GraphVerdict.ADD
            entry = GraphEntry(
                kind=EntryKind.EDGE, edge=edge, task=task, needs=needs, verdict=verdict, why=why
            )
            return self._signed(entry, state)

        try:
            return self._log.commit(draft).verdicts[edge]
        except _AlreadyJudged as judged:
            return judged.added

    def begin_term(self) -> None:
        """No record of an earlier term counts from here on: the first act of a new lead."""
        self._log.commit(lambda state, _: self._signed(GraphEntry(kind=EntryKind.TERM), state))

    def _signed(self, entry: GraphEntry, state: GraphState | None) -> dict[str, Any]:
        body = entry.to_json()
        term = term_to_write(self._actor, self._term(), state.term if state else 0)
        return body | {"by": self._actor, "term": term, "at": iso(self._clock.now())}


def objection(graph: GraphState, task: str, needs: str) -> str:
    """Why the edge cannot be added; empty when it can."""
    unknown = [name for name in (task, needs) if name not in graph.tasks]
    if unknown:
        return f"{unknown[0]} does not exist"
    cycle = find_cycle(graph.needs, task, needs)
    return f"it closes the cycle {' > '.join(cycle)}" if cycle else ""


def _check_tasks(graph: GraphState, entry: GraphEntry) -> None:
    for task, needs in entry.tasks.items():
        if task in graph.tasks or not layout.TASK_ID.fullmatch(task):
            raise InvalidRecord(why=f"{task} is taken or no task id")
        for need in needs:
            if need not in graph.tasks and need not in entry.tasks:
                raise InvalidRecord(why=f"{need} does not exist")
    if cycle := cycle_among(entry.tasks):
        raise InvalidRecord(why=f"its tasks need each other: {' > '.join(cycle)}")


def _check_edge(graph: GraphState, entry: GraphEntry) -> None:
    if not (entry.edge and entry.task and entry.needs and entry.verdict):
        raise InvalidRecord(why="a verdict names edge, task and need")
    if entry.edge in graph.verdicts:
        raise InvalidRecord(why=f"edge {entry.edge} has its verdict")
    if entry.verdict is GraphVerdict.ADD and (why := objection(graph, entry.task, entry.needs)):
        raise InvalidRecord(why=why)


def _check_run(graph: GraphState, entry: GraphEntry) -> None:
    if entry.run in graph.runs or not layout.RUN_ID.fullmatch(entry.run or ""):
        raise InvalidRecord(why=f"{entry.run} is taken or no run id")


def _join(graph: GraphState, task: str, need: str) -> None:
    graph.needs.setdefault(task, []).append(need)
    graph.dependents.setdefault(need, []).append(task)
