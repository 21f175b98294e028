"""Surroundings for tools: a directory, files for long results, a trail of events, guards."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from harness.models.model import ToolUse
from harness.permissions.questions import Answer
from harness.tool import Effect, Refusal, Tool, ToolCall, ToolContext, closed
from harness.tool_pool import ResultLimits, ToolPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from coordination.records import PlanState
    from harness.permissions.canonical import Question
    from harness.plan_scope import Scope
    from harness.tool import Guard

LIMITS = ResultLimits(inline_characters=2000, preview_characters=200)


@dataclass
class Outputs:
    """Satisfies `harness.tool.OutputFiles`."""

    directory: Path

    def write(self, call_id: str, text: str) -> Path:
        self.directory.mkdir(exist_ok=True)
        path = self.directory / f"{call_id}.txt"
        path.write_text(text, encoding="utf-8")
        return path


class Plans:
    """Satisfies `harness.gates.Plans`: says what a test wrote down."""

    def __init__(self, *states: PlanState, scope: Scope | None = None) -> None:
        self._states = iter(states)
        self._scope = scope

    async def state(self) -> str:
        return next(self._states)

    async def scope(self) -> Scope | None:
        return self._scope


@dataclass
class Trail:
    """Satisfies `harness.tool.Record`."""

    events: list[dict[str, object]] = field(default_factory=list)

    def __call__(self, action: str, /, **fields: object) -> None:
        self.events.append({"action": action, **fields})


@dataclass
class Gate:
    """A guard that lets `passes` calls through and refuses or crashes after them."""

    gate: str
    seen: list[str]
    passes: int = 1_000
    error: Exception | None = None
    waits: int = 0  # for somebody at each call

    async def check(self, call: ToolCall, _: Tool) -> Refusal | None:
        self.waits += 1
        self.seen.append(f"{self.gate} {call.name}")
        self.passes -= 1
        if self.passes >= 0:
            return None
        if self.error:
            raise self.error
        return Refusal(self.gate, "closed", "wait for approval")


@dataclass
class Person:
    """Satisfies `harness.permissions.guard.Approver`: says what a test wrote down, or is not there."""

    says: Answer = field(default_factory=lambda: Answer(allowed=False, reason="nobody_to_ask"))
    asked: list[Question] = field(default_factory=list)

    async def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.says


def call(name: str, identity: str = "call_1", /, **arguments: Any) -> ToolUse:
    return ToolUse(id=identity, name=name, input=arguments)


def noted_tool(seen: list[str], name: str = "note", effect: Effect = Effect.CHANGE) -> Tool:
    """A tool that notes that it ran."""

    async def run(arguments: dict[str, Any], _: ToolContext) -> str:
        seen.append(f"run {name} {arguments.get('text', '')}".strip())
        return f"noted {arguments.get('text', '')}"

    schema = closed({"text": {"type": "string"}, "times": {"type": "integer"}})
    return Tool(name=name, description="Note.", input_schema=schema, run=run, effect=effect)


def context(cwd: Path, **environment: str) -> ToolContext:
    return ToolContext(
        cwd=lambda: cwd,
        environment=lambda: {"PATH": os.environ["PATH"], **environment},
        outputs=Outputs(cwd.parent / "outputs"),
    )


def pool(
    tools: Sequence[Tool],
    cwd: Path,
    guards: Sequence[Guard] = (),
    *,
    trail: Trail | None = None,
    admits: Callable[[str], bool] = lambda _: True,
) -> ToolPool:
    return ToolPool(
        tools, guards, context=context(cwd), record=trail or Trail(), limits=LIMITS, admits=admits
    )


def settle(over: ToolPool, *calls: ToolUse) -> list[dict[str, Any]]:
    return anyio.run(over.run, calls)


def run(tool: Tool, where: ToolContext, /, **arguments: Any) -> str:
    """The result of a tool, past every gate."""
    return anyio.run(tool.run, arguments, where)
