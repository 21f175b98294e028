"""The permission gate: the policy, and where it says so the person, between the model and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from anyio import to_thread

from harness.permissions.canonical import question_of
from harness.permissions.ground import ground_at
from harness.permissions.judge import judge
from harness.permissions.rules import Verdict
from harness.tool import NoWorkingDirectory, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from harness.permissions.canonical import Question
    from harness.permissions.questions import Answer
    from harness.permissions.ruling import Policy
    from harness.tool import Tool, ToolCall

NOBODY = (
    "{why}, and nobody can be asked from here; find a way that does not need it, or tell the lead "
    "what you need and why"
)
DENIED = "{why}; do not try it in another form, find another way"


class Approver(Protocol):
    """Where a call goes that needs a person."""

    async def answer(self, question: Question) -> Answer:
        """The person's word, or why there is none; comes back within the deadline."""
        ...


class PermissionGuard:
    """Refuses what the policy denies, and what it asks about unless a person says yes."""

    gate = "permission"

    def __init__(self, policy: Policy, cwd: Callable[[], Path], approver: Approver, *, root: Path) -> None:
        """`root` is that of the team."""
        self._policy = policy
        self._cwd = cwd
        self._approver = approver
        self._root = root

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:
        ground = ground_at(self._directory(), self._root)
        ruling = await to_thread.run_sync(judge, self._policy, tool.name, call.input, ground)
        match ruling.verdict:
            case Verdict.ALLOW:
                return None
            case Verdict.DENY:
                reason = "denied" if ruling.reason == "rule" else ruling.reason
                return Refusal(self.gate, reason, DENIED.format(why=ruling.text))
            case Verdict.ASK:
                [path, *_] = ground.places(str(call.input.get("path", "")))
                return await self._ask(question_of(tool.name, call.input, why=ruling.text, path=path))

    async def _ask(self, question: Question) -> Refusal | None:
        answer = await self._approver.answer(question)
        if answer.allowed:
            return None
        if answer.reason == "nobody_to_ask":
            return Refusal(self.gate, answer.reason, NOBODY.format(why=question.why))
        return Refusal(self.gate, answer.reason, DENIED.format(why=answer.text))

    def _directory(self) -> Path | None:
        try:
            return self._cwd()
        except NoWorkingDirectory:  # another gate's business; paths are then taken as they are
            return None
