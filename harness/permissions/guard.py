"""The permission gate: the policy, and where it says so the person, between the model and its tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from anyio import to_thread

from harness.permissions.canonical import question_of
from harness.permissions.ground import ground_now
from harness.permissions.judge import judge
from harness.permissions.outflow import could_send
from harness.permissions.rules import Verdict
from harness.tool import Refusal

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


MARKED = (
    "{mark} came into this conversation from elsewhere, and this call could carry something out, so it "
    "needs a word of its own each time ({why})"
)


@dataclass(frozen=True)
class Mark:
    """What a conversation holds that neither the team nor the person wrote."""

    why: str = ""  # empty: nothing
    members: frozenset[str] = frozenset()  # whose conversations hold such a thing as well


class Approver(Protocol):
    """Where a call goes that needs a person."""

    async def answer(self, question: Question) -> Answer:
        """The person's word, or why there is none; comes back within the deadline."""
        ...


class PermissionGuard:
    """Refuses what the policy denies, and what it asks about unless a person says yes."""

    gate = "permission"

    def __init__(
        self,
        policy: Policy,
        cwd: Callable[[], Path],
        approver: Approver,
        *,
        root: Path,
        mark: Callable[[], Mark] | None = None,
    ) -> None:
        """`root` is that of the team; `mark` is what came into the conversation from elsewhere."""
        self.waits = 0
        self._mark = mark or Mark
        self._policy = policy
        self._cwd = cwd
        self._approver = approver
        self._root = root

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:
        ground = ground_now(self._cwd, self._root)
        ruling = await to_thread.run_sync(judge, self._policy, tool.name, call.input, ground)
        mark = self._mark()
        if ruling.verdict is not Verdict.DENY and mark.why and self._could_send(call, tool, mark):
            question = question_of(tool.name, call.input, why=MARKED.format(mark=mark.why, why=ruling.text))
            return await self._ask(replace(question, is_fresh=True))
        match ruling.verdict:
            case Verdict.ALLOW:
                return None
            case Verdict.DENY:
                reason = "denied" if ruling.reason == "rule" else ruling.reason
                return Refusal(self.gate, reason, DENIED.format(why=ruling.text))
            case Verdict.ASK:
                [path, *_] = ground.places(str(call.input.get("path", "")))
                return await self._ask(question_of(tool.name, call.input, why=ruling.text, path=path))

    def _could_send(self, call: ToolCall, tool: Tool, mark: Mark) -> bool:
        return could_send(tool.name, call.input, marked=mark.members, checks=self._policy.checks)

    async def _ask(self, question: Question) -> Refusal | None:
        self.waits += 1
        answer = await self._approver.answer(question)
        if answer.allowed:
            return None
        if answer.reason == "nobody_to_ask":
            return Refusal(self.gate, answer.reason, NOBODY.format(why=question.why))
        return Refusal(self.gate, answer.reason, DENIED.format(why=answer.text))
