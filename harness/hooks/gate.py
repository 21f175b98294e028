"""The last gate of a call: the person's hooks, which tighten and never loosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.hooks.events import OF_CALLS, Event
from harness.hooks.outcome import Outcome, Says
from harness.permissions.canonical import question_of
from harness.permissions.guard import DENIED, NOBODY
from harness.tool import Amended, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.hooks.hook_set import HookSet
    from harness.permissions.guard import Approver
    from harness.tool import Tool, ToolCall


class HookGate:
    """Asks the hooks about the call, and about what it does to the team."""

    gate = "hook"

    def __init__(self, hooks: HookSet, approver: Approver, *, task: Callable[[], str | None]) -> None:
        """`task` is the id of the caller's task."""
        self.waits = 0
        self._hooks = hooks
        self._approver = approver
        self._task = task

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | Amended | None:
        self.waits += self._hooks.is_any
        outcome = await self._hooks.on_tool(Event.PRE_TOOL_USE, tool.name, call.input)
        given = call.input if outcome.updated is None else dict(outcome.updated)
        amended = Amended(given, outcome.context) if outcome.context or given != call.input else None
        if outcome.says is Says.PASS and tool.name in OF_CALLS:
            outcome = await self._hooks.on(OF_CALLS[tool.name], **self._of_team(given))
        if outcome.says is Says.ASK:
            return await self._ask(given, tool, outcome) or amended
        if outcome.says is Says.PASS:
            return amended
        reason = "hook_failed" if outcome.says is Says.FAIL else "blocked"
        return Refusal(self.gate, reason, outcome.reason)

    def _of_team(self, given: Mapping[str, Any]) -> dict[str, object]:
        return {
            "task_id": given.get("task_id") or self._task(),
            "task_subject": given.get("subject"),
            "task_description": given.get("description"),
            "plan": given.get("plan"),
            "summary": given.get("summary"),
        }

    async def _ask(self, given: Mapping[str, Any], tool: Tool, outcome: Outcome) -> Refusal | None:
        answer = await self._approver.answer(question_of(tool.name, given, why=outcome.reason))
        if answer.allowed:
            return None
        text = NOBODY.format(why=outcome.reason) if answer.reason == "nobody_to_ask" else None
        return Refusal(self.gate, answer.reason, text or DENIED.format(why=answer.text))
