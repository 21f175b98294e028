"""The graph log: which tasks exist, and the first verdict on each edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.numbered_log import pretty, seal
from coordination.protocols import TermOver
from coordination.tasks.graph import LOG_NAME, EntryKind, GraphEntry, GraphVerdict, IdTaken, TaskGraph

if TYPE_CHECKING:
    from coordination.team_root import Team

A, B, C = "task_0000000a", "task_0000000b", "task_0000000c"


@pytest.fixture
def graph(team: Team) -> TaskGraph:
    graph = TaskGraph(team, "lead~2", lambda: 2)
    graph.add({A: [], B: [A], C: []})
    return graph


def test_tasks_keep_the_order_in_which_they_were_created(graph: TaskGraph, team: Team) -> None:
    graph.add({"task_00000001": [C]})
    state = TaskGraph(team, "alice~7").state
    assert list(state.tasks) == [A, B, C, "task_00000001"]
    assert (state.needs[B], state.dependents[A]) == ([A], [B])


def test_the_first_verdict_on_an_edge_stands(graph: TaskGraph, team: Team) -> None:
    assert graph.propose("edge_1", C, B)
    assert TaskGraph(team, "alice~7").propose("edge_1", C, "task_ffffffff")
    assert graph.state.needs[C] == [B]


def test_an_edge_that_closes_a_cycle_is_refused_and_stays_refused(graph: TaskGraph) -> None:
    assert not graph.propose("edge_1", A, B)
    assert not graph.propose("edge_1", C, B)
    assert A not in graph.state.needs


def test_an_edge_to_an_unknown_task_is_refused(graph: TaskGraph) -> None:
    assert not graph.propose("edge_1", A, "task_ffffffff")


def test_an_edge_that_is_there_is_not_doubled(graph: TaskGraph) -> None:
    assert graph.propose("edge_1", B, A)
    assert graph.state.dependents[A] == [B]


def test_an_id_exists_once(graph: TaskGraph) -> None:
    with pytest.raises(IdTaken, match=A):
        graph.add({A: []})


@pytest.mark.parametrize(
    "tasks",
    [{"task_00000001": ["task_00000002"]}, {"task_00000001": ["task_00000001"]}, {"../up": []}],
    ids=["unknown need", "own need", "no id"],
)
def test_tasks_that_cannot_be_are_not_believed(graph: TaskGraph, tasks: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidRecord):
        graph.add(tasks)
    assert list(graph.state.tasks) == [A, B, C]


def test_a_new_term_closes_the_graph_to_the_lead_before_it(graph: TaskGraph, team: Team) -> None:
    TaskGraph(team, "lead~5", lambda: 5).begin_term()
    with pytest.raises(TermOver, match="5 is the present one"):
        graph.propose("edge_1", C, B)
    assert TaskGraph(team, "alice~7").propose("edge_2", C, B)


def test_a_planted_verdict_that_closes_a_cycle_is_not_believed(graph: TaskGraph, team: Team) -> None:
    entry = GraphEntry(kind=EntryKind.EDGE, edge="edge_1", task=A, needs=B, verdict=GraphVerdict.ADD, term=2)
    record = seal(LOG_NAME, entry.to_json(), number=2, prev=1, commit_id="planted")
    team.directory.publish(layout.record(layout.GRAPH_LOG, 2), pretty(record))
    assert graph.state.verdicts == {}
    assert graph.propose("edge_2", C, B)
