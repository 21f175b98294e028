"""The permission gate: the policy between the model and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.permissions.judge import judge
from harness.permissions.rules import Verdict
from harness.tool import NoWorkingDirectory, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from harness.permissions.judge import Policy
    from harness.tool import Tool, ToolCall

NOBODY = (
    "{why}, and nobody can be asked from here; find a way that does not need it, or tell the lead "
    "what you need and why"
)
DENIED = "{why}; do not try it in another form, find another way"


class PermissionGuard:
    """Refuses what the policy denies, and for now also what it would ask a person about."""

    gate = "permission"

    def __init__(self, policy: Policy, cwd: Callable[[], Path]) -> None:
        self._policy = policy
        self._cwd = cwd

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:
        ruling = judge(self._policy, tool.name, call.input, cwd=self._directory())
        if ruling.verdict is Verdict.ALLOW:
            return None
        if ruling.verdict is Verdict.ASK:
            return Refusal(self.gate, "nobody_to_ask", NOBODY.format(why=ruling.text))
        reason = "denied" if ruling.reason == "rule" else ruling.reason
        return Refusal(self.gate, reason, DENIED.format(why=ruling.text))

    def _directory(self) -> str:
        try:
            return str(self._cwd())
        except NoWorkingDirectory:  # another gate's business; paths are then taken as they are
            return ""
