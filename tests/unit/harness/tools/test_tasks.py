"""The task graph as a model plans it, looks at it and works from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination.records import Status, Task, TaskResult
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from harness.off_loop import OffLoop
from harness.tool import Effect
from harness.tools.tasks import Planning, board_tools, one_line, planning_tools
from tests.support.lead import FakeWork
from tests.support.people import a_task, task_id
from tests.support.tools import call, pool

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team

pytestmark = pytest.mark.anyio
RUN = "run_00000001"


class Board:
    """The tools of a lead over a real store."""

    def __init__(self, team: Team, cwd: Path, *, checks: tuple[str, ...] = ("unit",)) -> None:
        self.store = TaskStore(team, "lead~1", lambda: 1)
        self.work = FakeWork()
        self.made: list[Task] = []
        off_loop = OffLoop()
        planning = Planning(run=RUN, checks=checks, made=self.made.append, max_attempts=5)
        self.tools = [
            *board_tools(self.store, off_loop, self.work, run=lambda: RUN),
            *planning_tools(self.store, off_loop, planning),
        ]
        self._pool = pool(self.tools, cwd)

    async def __call__(self, name: str, /, **arguments: Any) -> str:
        """The text of the result, whatever became of the call."""
        (result,) = await self._pool.run([call(name, **arguments)])
        text: str = result["content"]
        return text

    async def create(self, subject: str, **arguments: Any) -> Task:
        await self("create_task", subject=subject, description="all of it", **arguments)
        return self.made[-1]


@pytest.fixture
def board(team: Team, tmp_path: Path) -> Board:
    return Board(team, tmp_path)


# planning


async def test_a_new_task_is_held_in_the_run_and_its_id_is_told(board: Board) -> None:
    said = await board("create_task", subject="A", description="all of it", priority=2, checks=["unit"])
    (task,) = board.store.all(RUN)
    assert said == f"created {task.id}: A"
    assert (task.status, task.priority, task.checks) == (Status.HELD, 2, ("unit",))
    assert task.max_attempts == 5  # as the settings say
    assert board.made == [task]


async def test_a_task_can_want_roles_needs_and_a_plan(board: Board) -> None:
    first = await board.create("A")
    second = await board.create("B", roles=["tester"], blocked_by=[first.id], require_plan=True)
    assert (second.roles, second.blocked_by, second.plan_required) == (("tester",), (first.id,), True)


async def test_edges_are_added_later_by_the_ids(board: Board) -> None:  # T70
    first, second = await board.create("A"), await board.create("B")
    said = await board("update_task", task_id=second.id, add_blocked_by=[first.id], subject="B2")
    assert said == f"updated {second.id}  [held] B2  (blocked by {first.id})"


async def test_an_edge_that_would_close_a_cycle_is_refused_with_the_reason(board: Board) -> None:
    first = await board.create("A")
    second = await board.create("B", blocked_by=[first.id])
    said = await board("update_task", task_id=first.id, add_blocked_by=[second.id])
    assert said.startswith("[run/cycle] ")
    assert board.store.get(first.id).blocked_by == ()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"description": "x"}, "schema/missing_field"),
        ({"subject": "", "description": "x"}, "schema/"),
        ({"subject": "A", "description": "x", "priority": 10}, "schema/"),
        ({"subject": "A", "description": "x", "priority": True}, "schema/"),
        ({"subject": "A", "description": "x", "checks": ["rm -rf /"]}, "schema/"),
        ({"subject": "A", "description": "x", "blocked_by": ["B"]}, "schema/"),
        ({"subject": "A", "description": "x", "reserved_for": "alice"}, "schema/"),
        ({"subject": " ", "description": "x"}, "run/blank_subject"),
        ({"subject": "A", "description": "x", "blocked_by": ["task_ffffffff"]}, "run/unknown_task"),
    ],
)
async def test_a_task_that_cannot_be_is_refused_with_nothing_written(
    board: Board, arguments: dict[str, Any], reason: str
) -> None:
    assert (await board("create_task", **arguments)).startswith(f"[{reason}")
    assert (board.store.all(), board.made) == ([], [])


async def test_where_no_check_is_defined_none_can_be_named(team: Team, tmp_path: Path) -> None:
    board = Board(team, tmp_path, checks=())
    assert (await board("create_task", subject="A", description="x", checks=["unit"])).startswith("[schema/")
    assert (await board("create_task", subject="A", description="x", checks=[])).startswith("created")


async def test_a_claimed_task_is_not_edited(board: Board) -> None:
    task = await board.create("A")
    board.store.publish([task.id])
    board.store.claim(task.id, Claimant(name="alice", incarnation=2))
    said = await board("update_task", task_id=task.id, subject="B")
    assert "is in_progress (owner: alice)" in said


# looking


async def test_an_empty_board_says_so(board: Board) -> None:
    assert await board("list_tasks") == "no tasks yet"


async def test_the_board_shows_the_tasks_of_the_run_alone(board: Board, team: Team, tmp_path: Path) -> None:
    task = await board.create("A")
    other = TaskStore(team, "lead~1", lambda: 1)
    off_loop = OffLoop()
    elsewhere = planning_tools(
        other, off_loop, Planning(run="run_2", checks=(), made=lambda _: None, max_attempts=5)
    )
    await pool(elsewhere, tmp_path).run([call("create_task", subject="B", description="x")])
    assert await board("list_tasks") == f"{task.id}  [held] A"


async def test_one_task_is_shown_in_full(board: Board) -> None:
    task = await board.create("A", checks=["unit"])
    assert await board("get_task", task_id=task.id) == f"{task.id}  [held] A\n\nall of it\n\nchecks: unit"


async def test_an_unknown_task_is_an_error(board: Board) -> None:
    assert (await board("get_task", task_id="task_ffffffff")).startswith("[run/unknown_task] ")
    assert (await board("get_task", task_id="A")).startswith("[schema/")


@pytest.mark.parametrize(
    ("task", "note"),
    [
        (a_task(owner="alice", status=Status.IN_PROGRESS), "(owner alice)"),
        (a_task(blocked_by=(task_id(2), task_id(3))), f"(blocked by {task_id(2)}, {task_id(3)})"),
        (a_task(status=Status.COMPLETED, result=TaskResult()), "(unverified)"),
        (a_task(status=Status.COMPLETED, result=TaskResult(verified=True)), ""),
        (a_task(status=Status.FAILED, why="3 holders died"), "(3 holders died)"),
    ],
)
def test_a_row_says_what_matters_at_that_status(task: Task, note: str) -> None:
    assert one_line(task) == f"{task.id}  [{task.status}] Task 1" + (f"  {note}" if note else "")


# working


async def test_claiming_and_handing_in_are_the_hosts_work(board: Board) -> None:
    assert await board("claim_task", task_id=task_id(1)) == "work in /tree"
    assert await board("complete_task", summary="done") == "completed"
    assert board.work.asked == [("claim", task_id(1)), ("complete", "done")]


async def test_handing_in_needs_a_summary(board: Board) -> None:
    assert (await board("complete_task")).startswith("[schema/missing_field]")
    assert (await board("complete_task", summary="")).startswith("[schema/")


def test_no_tool_of_the_board_needs_files(board: Board) -> None:
    assert {tool.effect for tool in board.tools} == {Effect.TEAM}
