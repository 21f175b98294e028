"""Goals that the person gave: each a numbered log of what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.identity import new_id
from coordination.json_form import scrub
from coordination.numbered_log import LogKind, Logs, Record
from coordination.protocols import term_to_write
from coordination.records import Run
from coordination.tasks.graph import TaskGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team

# From state to states; a run that was not finished can be taken up again.
TRANSITIONS: dict[str | None, frozenset[str]] = {
    None: frozenset({"open"}),
    "open": frozenset({"open", "done", "failed", "stopped"}),
    "failed": frozenset({"failed", "open"}),
    "stopped": frozenset({"stopped", "open"}),
    "done": frozenset({"done"}),
}


@dataclass(eq=False)
class UnknownRun(TeamError):
    """No run has this id."""

    run: str
    known: str
    says = "there is no run {run}; known are: {known}"


@dataclass(eq=False)
class InvalidRunChange(TeamError):
    """A run cannot go from one state to the other."""

    run: str
    before: str
    after: str
    says = "the run {run} is {before} and cannot become {after}; start a new one"


class RunFields(TypedDict, total=False):
    """What may change in a run while it is open."""

    state: str
    branch: str
    base: str
    checks: dict[str, str]
    planned: bool
    workers: int
    model: str
    worker_model: str
    plan_reviewer: str
    confirmed: bool
    digests: dict[str, str]
    agreed: dict[str, Any]


class RunRules:
    """A run keeps its id, its goal and the time it was opened; its state follows the table."""

    def __init__(self, run: str) -> None:
        self._run = run

    def check(self, state: Run | None, record: Record) -> None:
        run = Run.from_json(record.body)
        if run.id != self._run:
            raise InvalidRecord(why="the run has another id than its log")
        before = state.state if state else None
        if run.state not in TRANSITIONS[before]:
            raise InvalidRecord(why=f"a run that is {before or 'new'} cannot become {run.state}")
        if state and (run.goal, run.at) != (state.goal, state.at):
            raise InvalidRecord(why="goal and time of a run do not change")
        if state and run.term < state.term:
            raise InvalidRecord(why=f"its term {run.term} is over, {state.term} came before it")

    def apply(self, state: Run | None, record: Record) -> Run:  # noqa: ARG002 - the protocol of a log
        return Run.from_json(record.body)


RUN = LogKind(name="run", parent=layout.RUNS, ids=layout.RUN_ID, rules=RunRules)


class Runs:
    """The runs of the team; an object belongs to one thread."""

    def __init__(
        self,
        team: Team,
        actor: str,
        term: Callable[[], int] = lambda: 0,
        *,
        graph: TaskGraph | None = None,
    ) -> None:
        """A run exists once the graph names it, so that none is opened by a lead whose term is over."""
        self._team = team
        self._actor = actor
        self._term = term
        self._graph = graph or TaskGraph(team, actor, term)
        self._logs = Logs(team.directory, RUN)

    def open(self, goal: str, **fields: Unpack[RunFields]) -> Run:
        """A run with this goal is open. Raises TermOver."""
        run = Run(
            id=new_id("run"),
            goal=scrub(goal),
            term=term_to_write(self._actor, self._term(), 0),
            at=iso(self._team.clock.now()),
            **fields,
        )
        state = self._logs[run.id].commit(lambda _state, _number: run.to_json())
        self._graph.add_run(run.id)
        return state

    def get(self, run: str) -> Run:
        """The newest version of the run. Raises UnknownRun."""
        state = self._logs[run].refresh() if run in self._graph.state.runs else None
        if state is None:
            raise UnknownRun(run=run, known=", ".join(known.id for known in self.all()) or "none")
        return state

    def all(self) -> list[Run]:
        """Every run, in the order in which they were opened."""
        states = [self._logs[run].refresh() for run in self._graph.state.runs]
        return [run for run in states if run]

    def began_in(self, run: str) -> int:
        """The term of leadership in which the run was opened; 0 for one that does not exist."""
        return self._graph.state.runs.get(run, 0)

    def open_run(self) -> Run | None:
        """The run that is being worked on."""
        return next((run for run in reversed(self.all()) if run.state == "open"), None)

    def update(self, run: str, **fields: Unpack[RunFields]) -> Run:
        """The run has these fields. Raises UnknownRun, InvalidRunChange, TermOver."""
        self.get(run)

        def draft(state: Run | None, _: int) -> dict[str, Any]:
            assert state is not None
            after = fields.get("state", state.state)
            if after not in TRANSITIONS[state.state]:
                raise InvalidRunChange(run=run, before=state.state, after=after)
            term = term_to_write(self._actor, self._term(), state.term)
            return msgspec.structs.replace(state, term=term, **fields).to_json()

        return self._logs[run].commit(draft)
