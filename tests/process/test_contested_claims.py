"""Processes that want the same task, or opposite edges, at the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from coordination import layout
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.graph import GraphEntry, GraphVerdict
from coordination.tasks.refusals import AlreadyOwned, Claimant, Cycle
from coordination.tasks.store import TaskStore
from coordination.team_root import Team, create_team
from tests.support.contenders import Contenders
from tests.support.courtesy import CONDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

CONTENDERS = 8


@pytest.fixture
def real_team(tmp_path: Path) -> Team:
    return create_team(tmp_path, tmp_path)


@pytest.fixture(params=CONDITIONS.values(), ids=CONDITIONS.keys())
def team_whatever_the_lock(real_team: Team, request: pytest.FixtureRequest) -> Iterator[Team]:
    with request.param(real_team):
        yield real_team


def claim_again_and_again(
    team: Team, place: int, barrier: Barrier, task_and_rounds: tuple[str, int]
) -> list[tuple[str, Any]]:
    name, (task_id, rounds) = f"worker{place}", task_and_rounds
    store, claimant = TaskStore(team, f"{name}~2"), Claimant(name=name, incarnation=2)
    outcomes: list[tuple[str, Any]] = []
    for _ in range(rounds):
        barrier.wait(30)
        try:
            token = store.claim(task_id, claimant).token
            outcomes.append(("won", token))
        except AlreadyOwned as refusal:
            token = None
            outcomes.append(("refused", refusal.owner))
        barrier.wait(30)
        if token is not None:
            store.release(task_id, token, "the round is over")
    return outcomes


def take_all(team: Team, place: int, barrier: Barrier, _: object) -> list[str]:
    name = f"worker{place}"
    store, taken = TaskStore(team, f"{name}~2"), []
    barrier.wait(30)
    while (task := store.claim_next(Claimant(name=name, incarnation=2))) and task.token:
        taken.append(task.id)
        store.cancel(task.id, "seen")
        store.refresh_views()
    return taken


def add_opposite_edges(team: Team, place: int, barrier: Barrier, pairs: list[tuple[str, str]]) -> list[str]:
    store, outcomes = TaskStore(team, f"worker{place}~2"), []
    for pair in pairs:
        barrier.wait(30)
        try:
            store.add_edges(pair[place], [pair[1 - place]])
            outcomes.append("added")
        except Cycle as refusal:
            outcomes.append(f"cycle of {len(set(refusal.path))}")
    store.repair()
    return outcomes


@pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=pytest.mark.stress)])
def test_one_of_eight_wins_each_time_and_seven_are_told_who(real_team: Team, rounds: int) -> None:  # S6, T44
    store = TaskStore(real_team, "person")
    [task] = store.create([TaskDraft(subject="wanted by all")])
    store.publish([task.id])

    reports = Contenders(real_team, CONTENDERS).run(claim_again_and_again, (task.id, rounds))

    tokens = []
    for outcomes in zip(*reports, strict=True):
        [(winner, token)] = [
            (f"worker{n}", token) for n, (kind, token) in enumerate(outcomes) if kind == "won"
        ]
        assert [owner for kind, owner in outcomes if kind == "refused"] == [winner] * (CONTENDERS - 1)
        tokens.append(token)
    assert len(tokens) == rounds
    assert tokens == sorted(set(tokens))


def test_no_task_is_taken_twice_and_none_is_left(team_whatever_the_lock: Team) -> None:
    store = TaskStore(team_whatever_the_lock, "person")
    tasks = store.create([TaskDraft(subject=f"task {n}") for n in range(30)])
    store.publish(task.id for task in tasks)

    contenders = Contenders(team_whatever_the_lock, 4)
    taken = [task for report in contenders.run(take_all, None) for task in report]

    assert sorted(taken) == sorted(task.id for task in tasks)


def test_of_two_opposite_edges_exactly_one_is_added(team_whatever_the_lock: Team) -> None:  # S7, T74
    store = TaskStore(team_whatever_the_lock, "person")
    tasks = store.create([TaskDraft(subject=f"task {n}") for n in range(20)])
    ids = [task.id for task in tasks]
    pairs = list(zip(ids[::2], ids[1::2], strict=True))

    outcomes = Contenders(team_whatever_the_lock, 2).run(add_opposite_edges, pairs)

    assert all({*both} == {"added", "cycle of 2"} for both in zip(*outcomes, strict=True))
    for left, right in pairs:
        assert len(store.get(left).blocked_by) + len(store.get(right).blocked_by) == 1
        assert not store.get(left).edges_pending + store.get(right).edges_pending
    assert added_verdicts(team_whatever_the_lock) == len(pairs)


def added_verdicts(team: Team) -> int:
    paths = [f"{layout.GRAPH_LOG}/{name}" for name in team.directory.names(layout.GRAPH_LOG)]
    entries = [GraphEntry.from_json(msgspec.json.decode(team.directory.read(path))) for path in paths]
    return sum(entry.verdict is GraphVerdict.ADD for entry in entries)
