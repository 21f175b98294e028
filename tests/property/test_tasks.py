"""The task store against a plain model with fencing tokens, seen by three processes in turn."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from coordination.records import Status, Task, TaskResult
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import (
    AlreadyOwned,
    Claimant,
    ClaimRefused,
    Cycle,
    HoldsAnother,
    NotPending,
    NotPublished,
    NotReady,
    NotUnclaimed,
    SelfEdge,
    WrongRole,
)
from coordination.tasks.rules import InvalidTransition, StaleToken, find_cycle
from coordination.tasks.store import TaskStore
from coordination.team_root import create_team
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

WORKERS = {"alice": "teammate", "bob": "teammate", "carol": "reviewer"}
MAX_ATTEMPTS = 2
workers = st.sampled_from(sorted(WORKERS))
a_number = st.integers(0, 1_000)


@dataclass
class ModelTask:
    place: int
    priority: int
    roles: tuple[str, ...]
    needs: set[str]
    status: Status = Status.HELD
    owner: str | None = None
    token: int | None = None
    attempts: int = 0
    refusals: int = 0
    old_tokens: set[int] = field(default_factory=set)

    def end_lease(self, status: Status, *, owner: str | None = None) -> None:
        if self.token is not None:
            self.old_tokens.add(self.token)
        self.status, self.owner, self.token = status, owner, None


class TasksMachine(RuleBasedStateMachine):
    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.clock = FakeClock()
        self.team = create_team(self.root, self.root, clock=self.clock)
        self.lead = TaskStore(self.team, "lead~1", lambda: 1)
        self.stores = {name: TaskStore(self.team, f"{name}~2") for name in WORKERS}
        self.model: dict[str, ModelTask] = {}

    def teardown(self) -> None:
        self.team.directory.close()
        shutil.rmtree(self.root)

    # what the model says

    def waits_for(self, task_id: str) -> set[str]:
        needs = self.model[task_id].needs
        return {need for need in needs if self.model[need].status is not Status.COMPLETED}

    def held_by(self, worker: str) -> str | None:
        held = (i for i, t in self.model.items() if t.status is Status.IN_PROGRESS and t.owner == worker)
        return next(held, None)

    def refusal(self, task_id: str, worker: str) -> type[ClaimRefused] | None:
        task = self.model[task_id]
        reasons: Mapping[type[ClaimRefused], bool] = {
            NotPublished: task.status is Status.HELD,
            AlreadyOwned: task.status is Status.IN_PROGRESS,
            NotPending: task.status is not Status.PENDING,
            WrongRole: bool(task.roles) and WORKERS[worker] not in task.roles,
            NotReady: bool(self.waits_for(task_id)),
            HoldsAnother: self.held_by(worker) is not None,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def expect(self, error: type[Exception] | None, act: Callable[[], object]) -> bool:
        """Does it; True when it went through, as it had to."""
        if error is None:
            act()
            return True
        with pytest.raises(error):
            act()
        return False

    def choose(self, number: int, *statuses: Status) -> str | None:
        fitting = [i for i, task in self.model.items() if task.status in statuses]
        return fitting[number % len(fitting)] if fitting else None

    # the rules

    @rule(
        target=ids,
        needs=st.lists(ids, max_size=2),
        priority=st.sampled_from([3, 5]),
        roles=st.sampled_from([(), ("reviewer",), ("teammate", "reviewer")]),
    )
    def create(self, needs: list[str], priority: int, roles: tuple[str, ...]) -> str:
        draft = TaskDraft(
            subject="some work",
            blocked_by=tuple(needs),
            priority=priority,
            roles=roles,
            max_attempts=MAX_ATTEMPTS,
        )
        [task] = self.lead.create([draft])
        self.model[task.id] = ModelTask(len(self.model), priority, roles, set(needs))
        return task.id

    @rule(task_id=ids)
    def publish(self, task_id: str) -> None:
        self.lead.publish([task_id])
        if self.model[task_id].status is Status.HELD:
            self.model[task_id].status = Status.PENDING

    @rule(task_id=ids, need=ids, worker=workers)
    def add_edge(self, task_id: str, need: str, worker: str) -> None:
        task = self.model[task_id]
        graph = {name: sorted(other.needs) for name, other in self.model.items()}
        error: type[Exception] | None = None
        if need in task.needs:
            pass
        elif need == task_id:
            error = SelfEdge
        elif find_cycle(graph, task_id, need):
            error = Cycle
        elif task.status not in {Status.HELD, Status.PENDING}:
            error = NotUnclaimed
        if self.expect(error, lambda: self.stores[worker].add_edges(task_id, [need])):
            task.needs.add(need)

    @rule(task_id=ids, worker=workers)
    def claim(self, task_id: str, worker: str) -> None:
        store, claimant = self.stores[worker], Claimant(name=worker, incarnation=2, role=WORKERS[worker])
        if self.expect(self.refusal(task_id, worker), lambda: store.claim(task_id, claimant)):
            self.granted(task_id, worker)

    @rule(worker=workers, wait=st.booleans())
    def claim_next(self, worker: str, wait: bool) -> None:  # noqa: FBT001 - drawn by name
        store, claimant = self.stores[worker], Claimant(name=worker, incarnation=2, role=WORKERS[worker])
        if self.held_by(worker):
            with pytest.raises(HoldsAnother):
                store.claim_next(claimant)
            return
        self.clock.advance(2 if wait else 0)  # without, the listing of an earlier claim may still be in use
        possible = [task_id for task_id in self.model if self.refusal(task_id, worker) is None]
        possible.sort(key=lambda task_id: (self.model[task_id].priority, self.model[task_id].place))
        task = store.claim_next(claimant)
        assert (task is None) == (not possible)
        if task:
            assert task.id == possible[0] if wait else task.id in possible
            self.granted(task.id, worker)

    def granted(self, task_id: str, worker: str) -> None:
        token = self.lead.get(task_id).token
        task = self.model[task_id]
        assert token is not None
        assert token > max(task.old_tokens, default=0)
        task.status, task.owner, task.token = Status.IN_PROGRESS, worker, token

    @rule(number=a_number)
    def resume(self, number: int) -> None:
        if task_id := self.choose(number, Status.IN_PROGRESS):
            task = self.model[task_id]
            assert task.owner
            assert task.token
            lease = self.lead.get(task_id).lease
            assert lease
            incarnation = int(lease.holder.split("~")[1]) + 1
            self.stores[task.owner].resume(task_id, Claimant(name=task.owner, incarnation=incarnation))
            task.old_tokens.add(task.token)
            self.granted(task_id, task.owner)

    @rule(number=a_number, how=st.sampled_from(["release", "reclaim", "refuse", "complete", "fail"]))
    def end_a_lease(self, number: int, how: str) -> None:
        if task_id := self.choose(number, Status.IN_PROGRESS):
            task = self.model[task_id]
            assert task.owner
            assert task.token
            worker = sorted(WORKERS)[number % len(WORKERS)] if how == "reclaim" else task.owner
            self.act(self.stores[worker], task_id, task.token, how)
            self.follow(task, how)

    def follow(self, task: ModelTask, how: str) -> None:
        owner = task.owner
        task.attempts += how == "reclaim"
        task.refusals += how == "refuse"
        if how == "complete":
            task.status = Status.COMPLETED
        elif how == "fail" or max(task.attempts, task.refusals) >= MAX_ATTEMPTS:
            task.end_lease(Status.FAILED, owner=owner)
        elif how != "refuse":
            task.end_lease(Status.PENDING)

    @rule(number=a_number, how=st.sampled_from(["release", "reclaim", "refuse", "complete", "fail", "bind"]))
    def write_with_an_old_token(self, number: int, how: str) -> None:
        stale = [(i, token) for i, task in self.model.items() for token in sorted(task.old_tokens)]
        if stale:
            task_id, token = stale[number % len(stale)]
            with pytest.raises((StaleToken, NotReady)):
                self.act(self.stores["alice"], task_id, token, how)

    def act(self, store: TaskStore, task_id: str, token: int, how: str) -> None:
        result = TaskResult(text="some words")
        match how:
            case "release":
                store.release(task_id, token, "stopped")
            case "reclaim":
                store.reclaim(task_id, token, "silent")
            case "refuse":
                store.refuse(task_id, token, result)
            case "complete":
                before = {i for i in self.model if not self.waits_for(i)}
                _, unblocked = store.complete(task_id, token, commit="c0ffee", branch="b", result=result)
                self.check_unblocked({task.id for task in unblocked}, task_id, before)
            case "fail":
                store.fail(task_id, token, result, "gave up")
            case "bind":
                store.bind(task_id, token, worktree="w", base="c0ffee")

    def check_unblocked(self, reported: set[str], completed: str, ready_before: set[str]) -> None:
        expected = {
            i
            for i, task in self.model.items()
            if task.status is Status.PENDING and self.waits_for(i) == {completed}
        }
        assert reported == expected - ready_before

    @rule(task_id=ids)
    def cancel(self, task_id: str) -> None:
        task = self.model[task_id]
        if self.expect(
            InvalidTransition if task.status.is_final else None, lambda: self.lead.cancel(task_id, "x")
        ):
            task.end_lease(Status.CANCELLED)

    @rule(task_id=ids, priority=st.sampled_from([1, 4]), worker=workers)
    def edit(self, task_id: str, priority: int, worker: str) -> None:
        task = self.model[task_id]
        unclaimed = task.status in {Status.HELD, Status.PENDING}
        if self.expect(
            None if unclaimed else NotUnclaimed,
            lambda: self.stores[worker].edit(task_id, priority=priority),
        ):
            task.priority = priority

    @rule(worker=workers)
    def repair(self, worker: str) -> None:
        self.stores[worker].repair()
        self.stores[worker].refresh_views()

    @rule(worker=workers)
    def restart(self, worker: str) -> None:
        self.stores[worker] = TaskStore(self.team, f"{worker}~2")

    @rule()
    def lose_everything_derived(self) -> None:
        for name in ("ready", "holdings"):
            shutil.rmtree(self.root / ".tasks" / name, ignore_errors=True)
        self.lead.repair()

    # what always holds

    @invariant()
    def every_process_sees_the_model(self) -> None:
        expected = {i: facts(task, task.token, task.needs) for i, task in self.model.items()}
        for store in (self.lead, self.stores["alice"]):
            assert {task.id: facts(task, task.token, task.blocked_by) for task in store.all()} == expected
            assert not store.problems

    @invariant()
    def the_graph_has_no_cycle(self) -> None:
        graph = {task.id: task.blocked_by for task in self.lead.all()}
        assert not any(find_cycle(graph, i, need) for i, needs in graph.items() for need in needs)

    @invariant()
    def nobody_holds_two(self) -> None:
        owners = [task.owner for task in self.lead.all() if task.status is Status.IN_PROGRESS]
        assert len(owners) == len(set(owners))


def facts(task: Task | ModelTask, token: int | None, needs: Iterable[str]) -> tuple[object, ...]:
    return task.status, task.owner, token, task.attempts, task.refusals, frozenset(needs)


TasksMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestTasks = TasksMachine.TestCase


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25))
def test_an_edge_is_refused_exactly_when_the_need_reaches_the_task(edges: list[tuple[int, int]]) -> None:
    needs: dict[str, list[str]] = {}
    for left, right in edges:
        cycle = find_cycle(needs, str(left), str(right))
        assert (cycle is not None) == (str(left) in reached(needs, str(right)))
        if cycle is None:
            needs.setdefault(str(left), []).append(str(right))
        else:
            assert cycle[0] == cycle[-1] == str(left)
            assert cycle[1] == str(right)
            assert all(after in needs[before] for before, after in pairwise(cycle[1:]))


def reached(needs: Mapping[str, list[str]], start: str) -> set[str]:
    seen = {start}
    while new := {need for name in seen for need in needs.get(name, ())} - seen:
        seen |= new
    return seen
