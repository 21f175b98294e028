"""The gates of a call that depend on the caller's assignment: plan and lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tool import Effect, Refusal, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PLAN_TEXT = {
    "required": "no approved plan yet: read what you need, call submit_plan, and change nothing before that",
    "pending": "your plan is before its reviewer; until it is decided change nothing",
    "rejected": "your plan was rejected: read the feedback, then call submit_plan with a better one",
}


class PlanGate:
    """Nothing is changed before an approved plan."""

    gate = "plan"

    def __init__(self, state: Callable[[], Awaitable[str]]) -> None:
        """`state` reads where the caller's plan stands now (DESIGN 6), as the words of `PlanState`."""
        self._state = state

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:  # noqa: ARG002 - the protocol of a gate
        if tool.effect not in {Effect.CHANGE, Effect.OUTSIDE}:
            return None
        state = await self._state()
        text = PLAN_TEXT.get(state)
        return Refusal(gate=self.gate, reason=f"plan_{state}", text=text) if text else None


class LeaseGate:
    """Files and shell only in the tree of the caller's task, while the task is the caller's."""

    gate = "lease"

    def __init__(self, problem: Callable[[Effect], Awaitable[tuple[str, str] | None]]) -> None:
        """`problem` looks at task and tree now and says reason code and text, or None to let it pass."""
        self._problem = problem

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:  # noqa: ARG002 - the protocol of a gate
        if tool.effect is Effect.TEAM:
            return None
        problem = await self._problem(tool.effect)
        return Refusal(gate=self.gate, reason=problem[0], text=problem[1]) if problem else None
