"""The plan gate and the lease gate: what they stop, what they let pass, and their reason codes."""

from __future__ import annotations

import pytest

from coordination.records import PlanState
from harness.gates import LeaseGate, PlanGate
from harness.permissions.ruling import Ground
from harness.plan_scope import Scope, scope_of, with_scope
from harness.tool import Effect, Refusal
from tests.support.tools import Plans, call, noted_tool

pytestmark = pytest.mark.anyio
BROKEN = ("lease_broken", "it is pending, owned by nobody")


async def planned(state: PlanState, effect: Effect = Effect.CHANGE) -> Refusal | None:
    return await PlanGate(Plans(state)).check(call("note"), noted_tool([], effect=effect))


@pytest.mark.parametrize("state", [PlanState.REQUIRED, PlanState.PENDING, PlanState.REJECTED])
async def test_nothing_is_changed_before_an_approved_plan(state: PlanState) -> None:  # T24
    refusal = await planned(state)
    assert refusal
    assert (refusal.gate, refusal.reason) == ("plan", f"plan_{state}")


@pytest.mark.parametrize("effect", [Effect.READ, Effect.TEAM])
async def test_reading_and_talking_stay_open(effect: Effect) -> None:
    assert await planned(PlanState.REQUIRED, effect) is None


@pytest.mark.parametrize("state", [PlanState.APPROVED, PlanState.NOT_REQUIRED])
async def test_an_approved_plan_opens_the_gate(state: PlanState) -> None:
    assert await planned(state) is None


NARROW = Scope(paths=("src/**", "docs/*.md"), commands=("make *", "rm src/old.py"))


@pytest.mark.parametrize(
    ("name", "arguments", "outside"),
    [
        ("write_file", {"path": "src/a/b.py"}, None),
        ("edit_file", {"path": "./docs/../docs/a.md"}, None),
        ("write_file", {"path": "docs/a/b.md"}, "docs/a/b.md"),
        ("edit_file", {"path": "setup.py"}, "setup.py"),
        ("write_file", {"path": "src/../setup.py"}, "setup.py"),
        ("bash", {"command": "grep -rn x . | head"}, None),
        ("bash", {"command": "make test && make docs"}, None),
        ("bash", {"command": "echo x > src/a.py"}, None),
        ("bash", {"command": "rm src/old.py"}, None),
        ("bash", {"command": "pytest -q"}, None),
        ("bash", {"command": "echo x > setup.py"}, "setup.py"),
        ("bash", {"command": "make test && rm setup.py"}, "setup.py"),
        ("mcp__docs__publish", {}, "the tool mcp__docs__publish"),
        ("bash", {"command": "python3 x.py"}, "the command python3 x.py"),
        ("bash", {"command": "sed -i s/a/b/ src/a.py setup.py"}, "setup.py"),
    ],
)
async def test_under_an_approved_plan_nothing_outside_its_scope_is_changed(
    name: str, arguments: dict[str, str], outside: str | None
) -> None:
    gate = PlanGate(Plans(PlanState.APPROVED, scope=NARROW), lambda: Ground(cwd="/tree"), ["pytest -q"])
    refusal = await gate.check(call(name, **arguments), noted_tool([], name))
    assert (refusal and refusal.reason) == (outside and "out_of_scope")
    assert outside is None or (refusal and refusal.text.startswith(f"{outside} is outside the scope"))


def test_the_scope_is_a_part_of_the_text_that_the_reviewer_reads() -> None:
    text = with_scope(
        "I will tidy up.", {"paths": ["src/**", "docs/*.md"], "commands": ["make *", "rm src/old.py"]}
    )
    assert "src/**" in text
    assert scope_of(text) == NARROW
    assert scope_of(with_scope(text, {"paths": ["a"]})) == Scope(paths=("a",))
    assert scope_of(with_scope(text, None)) is None
    assert scope_of("no scope here") is None


async def test_the_plan_is_looked_at_anew_for_each_call() -> None:
    gate, tool = PlanGate(Plans(PlanState.APPROVED, PlanState.REQUIRED)), noted_tool([])
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
