"""All tools of one agent by name, and the one path of a call: validate, guard, run, report."""

from __future__ import annotations

import difflib
import json
import logging
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import anyio

from coordination.errors import TeamError
from harness.hooks.events import Event
from harness.hooks.outcome import Says
from harness.input_schema import InputSchema
from harness.models.model import ToolUse
from harness.preview import preview
from harness.roles.role import CONNECT, SERVERS
from harness.tool import Effect, Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from harness.hooks.hook_set import HookSet
    from harness.tool import Amended, Guard, Output, Record, Tool, ToolCall, ToolContext

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

AMENDS = "hook"  # the gate that may change a call, which the others then judge anew
ASKED_AGAIN = frozenset({"plan", "lease"})  # may have changed while a guard waited for somebody
SIDE_BY_SIDE = 8  # reads of one reply that run at once
RUN = "run"  # the gate named in the result of a tool that ran and failed
_INTERRUPTED = Refusal(
    RUN,
    "interrupted",
    "interrupted by a message: read that first; the call did not end, though part of it may have happened",
)


@dataclass(eq=False)
class DuplicateTool(TeamError):
    """Two tools of one pool have the same name."""

    name: str
    says = "two tools are called {name}; rename one"


@dataclass(eq=False)
class _Stopped(Exception):
    """A call ended at a gate, or in the tool itself."""

    refusal: Refusal


@dataclass(frozen=True, kw_only=True)
class ResultLimits:
    """How much of a result the model sees, in characters."""

    inline_characters: int
    preview_characters: int


class ToolPool:
    """The tools of one agent; every call goes through `run`, there is no other way to a tool."""

    def __init__(  # noqa: PLR0913 - what every call passes, named once
        self,
        tools: Sequence[Tool],
        guards: Sequence[Guard] = (),
        *,
        context: ToolContext,
        record: Record,
        limits: ResultLimits,
        hooks: HookSet | None = None,
        admits: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Guards are asked in this order; `hooks` are asked after a tool ran. Raises DuplicateTool.

        A tool whose name `admits` says no to is not there, whoever offers it.
        """
        self._hooks = hooks
        self._admits = admits
        self._own = tuple(tools)
        self._tools: dict[str, Tool] = {}
        self._inputs: dict[str, InputSchema] = {}
        self._schemas: list[dict[str, Any]] = []
        self.offer(())
        self._guards = tuple(guards)
        self._context = context
        self._record = record
        self._limits = limits
        self._running: anyio.CancelScope | None = None

    def offer(self, tools: Sequence[Tool]) -> None:
        """Behind its own tools the pool has these, in place of those that were offered before.

        The model sees them at its next call. Raises DuplicateTool; then nothing changed.
        """
        by_name: dict[str, Tool] = {}
        for tool in (tool for tool in (*self._own, *tools) if self._admits(tool.name)):
            if tool.name in by_name:
                raise DuplicateTool(name=tool.name)
            by_name[tool.name] = tool
        self._tools = by_name
        self._schemas = [tool.schema for tool in by_name.values()]
        self._inputs = {name: InputSchema(tool.input_schema) for name, tool in by_name.items()}

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """What the model is told, in a stable order so that its cache holds."""
        return self._schemas

    async def run(self, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
        """One tool_result block per call, in the order of the calls; raises nothing but cancellation.

        Neighbouring reads run side by side, as do calls of one tool that allows it; everything else
        alone and in order. After `interrupt` the calls that had not ended have an error result each.
        """
        results: list[dict[str, Any]] = [{} for _ in calls]

        async def settle(place: int, limiter: anyio.CapacityLimiter) -> None:
            async with limiter:
                results[place] = await self._settle(calls[place])

        with anyio.CancelScope() as self._running:
            for places, at_once in self._batches(calls):
                limiter = anyio.CapacityLimiter(at_once)
                async with anyio.create_task_group() as group:
                    for place in places:
                        group.start_soon(settle, place, limiter)
        self._running = None
        return [result or self._interrupted(call) for call, result in zip(calls, results, strict=True)]

    def interrupt(self) -> None:
        """The calls that run now are cancelled, and those behind them not begun; from the event loop."""
        if self._running is not None:
            self._running.cancel()

    @property
    def is_interrupted(self) -> bool:
        """True until the interrupted calls have ended; blocking work asks for it from its thread."""
        return self._running is not None and self._running.cancel_called

    def ends_turn(self, calls: Sequence[ToolCall], results: Sequence[dict[str, Any]]) -> bool:
        """True when one of the calls succeeded and its tool ends the turn."""
        return any(
            self._tools[call.name].ends_turn
            for call, result in zip(calls, results, strict=True)
            if call.name in self._tools and not result.get("is_error")
        )

    def _batches(self, calls: Sequence[ToolCall]) -> Iterator[tuple[list[int], int]]:
        """Places of calls that may run at the same time, and how many of them."""
        for (at_once, _), places in groupby(range(len(calls)), key=lambda place: self._company(calls[place])):
            batch = list(places)
            yield from [(batch, at_once)] if at_once > 1 else [([place], 1) for place in batch]

    def _company(self, call: ToolCall) -> tuple[int, str]:
        """How many calls may run beside each other, and in which company."""
        tool = self._tools.get(call.name)
        if tool and tool.at_once is not None:
            return tool.at_once, tool.name
        return (SIDE_BY_SIDE if tool and tool.effect is Effect.READ else 1), ""

    async def _settle(self, call: ToolCall) -> dict[str, Any]:
        try:
            output = await self._pass_and_run(call)
        except _Stopped as stopped:
            refusal = stopped.refusal
            action = "tool_failed" if refusal.gate == RUN else "tool_refused"
            self._tell(action, call, gate=refusal.gate, reason=refusal.reason)
            return _result(call, self._fit(call, str(refusal))) | {"is_error": True}
        self._tell("tool_ran", call)
        if isinstance(output, str):
            return _result(call, self._fit(call, output))
        text = {"type": "text", "text": self._fit(call, output.text)}
        return _result(call, [text, *output.images])

    async def _pass_and_run(self, call: ToolCall) -> str | Output:
        tool = self._tools.get(call.name)
        if tool is None:
            raise _Stopped(_unknown(call.name, self.names))
        passed, remark = await self._let_pass(tool, call, self._guards)
        output = await _bordered(RUN, tool.run, dict(passed.input), replace(self._context, call_id=call.id))
        if isinstance(output, str):
            return output + remark + await self._remarks(passed, output)
        return replace(output, text=output.text + remark + await self._remarks(passed, output.text))

    async def _let_pass(self, tool: Tool, call: ToolCall, guards: Sequence[Guard]) -> tuple[ToolCall, str]:
        """The call as it may run, and what the model is to know of that."""
        if refusal := await _bordered("semantic", self._examine, tool, call):
            raise _Stopped(refusal)
        waits = self._waits()
        amended = await _ask(guards, call, tool)
        if self._waits() > waits:  # meanwhile these may have changed
            await _ask([guard for guard in guards if guard.gate in ASKED_AGAIN], call, tool)
        if amended is None:
            return call, ""
        remark = f"\n{amended.remark}" if amended.remark else ""
        if amended.input == call.input:
            return call, remark
        others = [guard for guard in guards if guard.gate != AMENDS]
        passed, more = await self._let_pass(
            tool, ToolUse(id=call.id, name=call.name, input=amended.input), others
        )
        self._tell("input_changed", call, gate=AMENDS)
        return passed, f"\n{_changed(passed)}{remark}{more}"

    def _waits(self) -> int:
        """How often the guards that are asked once have waited for somebody."""
        return sum(guard.waits for guard in self._guards if guard.gate not in ASKED_AGAIN)

    async def _remarks(self, call: ToolCall, text: str) -> str:
        """What the person's hooks have to say of a call that ran; no fault there takes its result away."""
        if self._hooks is None:
            return ""
        event = Event.POST_TOOL_USE
        try:
            outcome = await _bordered("hook", self._hooks.on_tool, event, call.name, call.input, text)
        except _Stopped as stopped:
            return f"\n{stopped.refusal}"
        objection = f"[hook/objected] {outcome.reason}" if outcome.says is Says.BLOCK else ""
        said = "\n".join(filter(None, [objection, outcome.context]))
        return f"\n{said}" if said else ""

    async def _examine(self, tool: Tool, call: ToolCall) -> Refusal | None:
        if fault := self._inputs[tool.name].fault(call.input):
            return Refusal(gate="schema", reason=fault.reason, text=fault.text)
        return tool.semantic(call.input) if tool.semantic else None

    def _interrupted(self, call: ToolCall) -> dict[str, Any]:
        self._tell("tool_failed", call, gate=RUN, reason="interrupted")
        return _result(call, str(_INTERRUPTED)) | {"is_error": True}

    def _fit(self, call: ToolCall, text: str) -> str:
        """The text itself, or a preview of it and the path of the file that holds it."""
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates break the request
        tool = self._tools.get(call.name)
        if len(text) <= self._limits.inline_characters or (tool and tool.is_bounded):
            return text or "(no output)"
        short = preview(text, self._limits.preview_characters)
        try:
            path = self._context.outputs.write(call.id, text)
        except TeamError as error:
            return f"{short}\n[the whole result could not be kept: {error}]"
        return f"{short}\n[{len(text)} characters in all; the whole result is in {path}]"

    def _tell(self, action: str, call: ToolCall, **fields: object) -> None:
        tool = self._tools.get(call.name)
        inside = {"sandboxed": self._context.is_confined} if tool and tool.runs_commands else {}
        try:
            self._record(action, tool=call.name, call=call.id, **inside, **fields)
        except TeamError as error:  # a full disk must not take the result from the model
            logger.warning("no event for %s: %s", call.name, error, extra={"action": "event_lost"})


async def _ask(guards: Sequence[Guard], call: ToolCall, tool: Tool) -> Amended | None:
    """Every one of them lets the call pass, the last that amends it with what it says. Raises _Stopped."""
    amended = None
    for guard in guards:
        verdict = await _bordered(guard.gate, guard.check, call, tool)
        if isinstance(verdict, Refusal):
            raise _Stopped(verdict)
        amended = verdict or amended
    return amended


async def _bordered(gate: str, step: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
    """What the step returns. Whatever it raises becomes a refusal of this gate."""
    try:
        return await step(*args, **named)
    except TeamError as error:
        raise _Stopped(Refusal(gate, error.reason, str(error))) from error
    except Exception as error:  # the border of the tool run: a fault in one tool must not end the agent
        logger.exception("%s crashed", gate, extra={"action": "tool_crashed"})
        raise _Stopped(Refusal(gate, "crashed", f"{type(error).__name__}: {error}")) from error


def _result(call: ToolCall, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": content}


def _changed(call: ToolCall) -> str:
    return f"[hook/changed] a hook of the person changed the input to {json.dumps(call.input)}"


def _unknown(name: str, known: list[str]) -> Refusal:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"the tools are {', '.join(known)}"
    if name.startswith(SERVERS) and CONNECT in known:
        hint = f"is its server connected? {CONNECT} connects it; {hint}"
    return Refusal(gate="schema", reason="unknown_tool", text=f"there is no tool {name!r}; {hint}")
