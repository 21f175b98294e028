"""The people of the team as a model deals with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination.roster import Roster
from harness.off_loop import OffLoop
from harness.tool import Effect
from harness.tools.team import lead_tools, submit_plan
from tests.support.lead import FakeLeading
from tests.support.people import comes_alive
from tests.support.tools import call, pool

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team

pytestmark = pytest.mark.anyio


class People:
    """The tools over a real roster and a host that only notes."""

    def __init__(self, team: Team, cwd: Path) -> None:
        self.host = FakeLeading()
        self.tools = [*lead_tools(Roster(team, "lead~1"), OffLoop(), self.host), submit_plan(self.host)]
        self.pool = pool(self.tools, cwd)

    async def __call__(self, name: str, /, **arguments: Any) -> str:
        """The text of the result, whatever became of the call."""
        (result,) = await self.pool.run([call(name, **arguments)])
        text: str = result["content"]
        return text


@pytest.fixture
def people(team: Team, tmp_path: Path) -> People:
    return People(team, tmp_path)


@pytest.mark.parametrize(
    ("name", "arguments", "asked"),
    [
        ("request_plan", {"teammate": "alice", "what": "Why?"}, ("require_plan", "alice", "Why?")),
        ("request_shutdown", {"teammate": "alice"}, ("request_shutdown", "alice")),
        ("submit_plan", {"plan": "Use decimals"}, ("submit_plan", "Use decimals")),
        (
            "review_plan",
            {"request_id": "req_0000000a", "approve": False, "feedback": "no"},
            ("review_plan", "req_0000000a", False, "no"),
        ),
        (
            "review_plan",
            {"request_id": "req_0000000a", "approve": True},
            ("review_plan", "req_0000000a", True, ""),
        ),
    ],
)
async def test_the_host_is_asked_with_what_the_model_said(
    people: People, name: str, arguments: dict[str, Any], asked: tuple[object, ...]
) -> None:
    await people(name, **arguments)
    assert people.host.asked == [asked]


async def test_a_teammate_is_asked_for_with_all_that_was_said(people: People) -> None:
    wanted = {"name": "alice", "role": "coder", "task_id": "task_00000001", "require_plan": True}
    assert await people("spawn_teammate", **wanted) == "starting"
    assert people.host.asked == [("spawn", wanted)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("spawn_teammate", {}),
        ("spawn_teammate", {"name": "../x"}),
        ("spawn_teammate", {"name": "alice", "model": "huge"}),
        ("spawn_teammate", {"name": "alice", "role": ""}),
        ("spawn_teammate", {"name": "alice", "task_id": "1"}),
        ("request_plan", {"teammate": "alice", "what": ""}),
        ("review_plan", {"request_id": "req_0000000a"}),
        ("review_plan", {"request_id": "req_0000000a", "approve": "yes"}),
        ("review_plan", {"request_id": "../x", "approve": True}),
        ("request_shutdown", {"teammate": "alice bob"}),
        ("submit_plan", {"plan": ""}),
    ],
)
async def test_wrong_arguments_do_not_reach_the_host(
    people: People, name: str, arguments: dict[str, Any]
) -> None:
    assert (await people(name, **arguments)).startswith("[schema/")
    assert people.host.asked == []


async def test_the_list_shows_who_is_there_and_in_which_state(people: People, team: Team) -> None:
    assert await people("list_teammates") == "no teammates yet"
    comes_alive(team, "alice", role="coder")
    Roster(team, "lead~1").start("bob")
    assert await people("list_teammates") == "alice [alive] role coder\nbob [starting] role teammate"


async def test_the_list_shows_what_a_member_waits_for(people: People, team: Team) -> None:
    alice = comes_alive(team, "alice")
    Roster(team, "alice~2").update("alice", alice.incarnation, waiting_on="the review of req_0000000a")
    assert "waits for the review of req_0000000a" in await people("list_teammates")


def test_a_submitted_plan_ends_the_turn_and_nothing_else_does(people: People) -> None:
    assert [tool.name for tool in people.tools if tool.ends_turn] == ["submit_plan"]
    assert {tool.effect for tool in people.tools} == {Effect.TEAM}
