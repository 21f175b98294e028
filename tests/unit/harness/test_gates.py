"""The plan gate and the lease gate: what they stop, what they let pass, and their reason codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.records import PlanState
from harness.gates import LeaseGate, PlanGate
from harness.tool import Effect, Refusal
from tests.support.tools import call, noted_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.anyio
BROKEN = ("lease_broken", "it is pending, owned by nobody")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def stands(state: PlanState) -> Callable[[], Awaitable[str]]:
    async def look() -> str:
        return state

    return look


async def planned(state: PlanState, effect: Effect = Effect.CHANGE) -> Refusal | None:
    return await PlanGate(stands(state)).check(call("note"), noted_tool([], effect=effect))


@pytest.mark.parametrize("state", [PlanState.REQUIRED, PlanState.PENDING, PlanState.REJECTED])
async def test_nothing_is_changed_before_an_approved_plan(state: PlanState) -> None:
    refusal = await planned(state)
    assert refusal
    assert (refusal.gate, refusal.reason) == ("plan", f"plan_{state}")


@pytest.mark.parametrize("effect", [Effect.READ, Effect.TEAM])
async def test_reading_and_talking_stay_open(effect: Effect) -> None:
    assert await planned(PlanState.REQUIRED, effect) is None


@pytest.mark.parametrize("state", [PlanState.APPROVED, PlanState.NOT_REQUIRED])
async def test_an_approved_plan_opens_the_gate(state: PlanState) -> None:
    assert await planned(state) is None


async def test_the_plan_is_looked_at_anew_for_each_call() -> None:
    states = iter([PlanState.APPROVED, PlanState.REQUIRED])

    async def look() -> str:
        return next(states)

    gate, tool = PlanGate(look), noted_tool([])
    assert await gate.check(call("note"), tool) is None
    assert await gate.check(call("note"), tool)


async def leased(problem: tuple[str, str] | None, effect: Effect) -> tuple[Refusal | None, list[Effect]]:
    asked: list[Effect] = []

    async def look(of: Effect) -> tuple[str, str] | None:
        asked.append(of)
        return problem

    return await LeaseGate(look).check(call("note"), noted_tool([], effect=effect)), asked


@pytest.mark.parametrize("effect", [Effect.READ, Effect.CHANGE])
async def test_without_a_task_there_are_no_files(effect: Effect) -> None:
    assert await leased(BROKEN, effect) == (Refusal("lease", *BROKEN), [effect])


@pytest.mark.parametrize("effect", [Effect.READ, Effect.CHANGE])
async def test_the_holder_of_the_task_works_in_its_tree(effect: Effect) -> None:
    assert (await leased(None, effect))[0] is None


async def test_tools_of_the_team_need_no_lease() -> None:
    assert await leased(BROKEN, Effect.TEAM) == (None, [])
