"""The gates of a call that depend on the caller's assignment: plan and lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from harness.permissions.ruling import Ground
from harness.tool import Effect, Refusal, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from harness.plan_scope import Scope

PLAN_TEXT = {
    "required": "no approved plan yet: read what you need, call submit_plan, and change nothing before that",
    "pending": "your plan is before its reviewer; until it is decided change nothing",
    "rejected": "your plan was rejected: read the feedback, then call submit_plan with a better one",
}


OUTSIDE = (
    "{what} is outside the scope of your approved plan; keep to the plan, or call submit_plan with a scope "
    "that has it, and say why"
)


class Plans(Protocol):
    """Where the caller's plan stands."""

    async def state(self) -> str:
        """Now, as the words of `PlanState` (DESIGN 6)."""
        ...

    async def scope(self) -> Scope | None:
        """What the approved plan keeps to, if it says so."""
        ...


class PlanGate:
    """Nothing is changed before an approved plan, and nothing outside its scope after it."""

    gate = "plan"
    waits = 0

    def __init__(
        self, plans: Plans, ground: Callable[[], Ground] = Ground, checks: Sequence[str] = ()
    ) -> None:
        """`ground` is looked at for each call; `checks` are commands that no scope has to name."""
        self._plans = plans
        self._ground = ground
        self._checks = checks

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:
        if tool.effect not in {Effect.CHANGE, Effect.OUTSIDE}:
            return None
        state = await self._plans.state()
        if text := PLAN_TEXT.get(state):
            return Refusal(gate=self.gate, reason=f"plan_{state}", text=text)
        scope = await self._plans.scope() if state == "approved" else None
        objection = scope.objection(tool.name, call.input, self._ground(), self._checks) if scope else None
        if objection is None:
            return None
        return Refusal(gate=self.gate, reason="out_of_scope", text=OUTSIDE.format(what=objection))


class LeaseGate:
    """Files and shell only in the tree of the caller's task, while the task is the caller's."""

    gate = "lease"
    waits = 0

    def __init__(self, problem: Callable[[Effect], Awaitable[tuple[str, str] | None]]) -> None:
        """`problem` looks at task and tree now and says reason code and text, or None to let it pass."""
        self._problem = problem

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:  # noqa: ARG002 - the protocol of a gate
        if tool.effect is Effect.TEAM:
            return None
        problem = await self._problem(tool.effect)
        return Refusal(gate=self.gate, reason=problem[0], text=problem[1]) if problem else None
