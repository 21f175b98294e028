"""The board and the members that a tasks file asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination.records import Member, MemberState, Status
from coordination.tasks.store import TaskStore
from orchestrator.lead.planned import create_planned, members_for
from orchestrator.tasks_file import PlannedTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.team_root import Team


def planned(key: str, *needs: str, **fields: Any) -> PlannedTask:
    return PlannedTask(key=key, subject=key.upper(), needs=needs, **fields)


def names_and_roles(
    team: Team, *tasks: PlannedTask, wanted: int = 0, most: int = 8, living: Sequence[Member] = ()
) -> list[str]:
    board = create_planned(TaskStore(team, "lead~1"), "run_00000001", tasks, max_attempts=3)
    places = members_for(board, wanted=wanted, most=most, living=living)
    return [f"{place['name']} {place['role']}" for place in places]


DIAMOND = (planned("a"), planned("b", "a"), planned("c", "a"), planned("d", "b", "c"))


def test_the_tasks_are_on_the_board_held_with_their_edges(team: Team) -> None:
    store = TaskStore(team, "lead~1")
    create_planned(store, "run_00000001", DIAMOND, max_attempts=2)
    tasks = {task.subject: task for task in store.all("run_00000001")}
    assert {task.status for task in tasks.values()} == {Status.HELD}
    assert tasks["A"].blocked_by == ()
    assert set(tasks["D"].blocked_by) == {tasks["B"].id, tasks["C"].id}
    assert tasks["B"].max_attempts == 2


def test_every_field_of_the_file_arrives(team: Team) -> None:
    store = TaskStore(team, "lead~1")
    entry = planned("a", description="all", checks=("unit",), role="tester", priority=1, plan=True)
    (task,) = create_planned(store, "run_00000001", [entry], max_attempts=3)
    assert (task.description, task.checks, task.roles) == ("all", ("unit",), ("tester",))
    assert (task.priority, task.plan_required) == (1, True)


def test_without_roles_there_are_as_many_members_as_tasks_side_by_side(team: Team) -> None:
    assert names_and_roles(team, *DIAMOND) == ["worker-1 teammate", "worker-2 teammate"]


@pytest.mark.parametrize(("wanted", "most", "number"), [(1, 8, 1), (5, 8, 5), (5, 3, 3), (0, 1, 1)])
def test_the_number_is_the_one_wanted_within_the_limit(
    team: Team, wanted: int, most: int, number: int
) -> None:
    assert len(names_and_roles(team, *DIAMOND, wanted=wanted, most=most)) == number


def test_every_role_of_the_file_has_a_member(team: Team) -> None:
    tasks = (planned("a", role="tester"), planned("b", "a", role="coder"), planned("c", "b"))
    assert names_and_roles(team, *tasks) == ["worker-1 coder", "worker-2 tester"]


def test_places_beyond_the_roles_are_for_teammates(team: Team) -> None:
    tasks = (planned("a", role="tester"), planned("b"), planned("c"))
    assert names_and_roles(team, *tasks) == ["worker-1 tester", "worker-2 teammate", "worker-3 teammate"]


def test_who_lives_is_not_started_again(team: Team) -> None:
    living = [Member(name="worker-1", state=MemberState.ALIVE, role="tester")]
    tasks = (planned("a", role="tester"), planned("b"), planned("c"))
    assert names_and_roles(team, *tasks, living=living) == ["worker-2 teammate", "worker-3 teammate"]
