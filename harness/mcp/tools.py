"""The tools of connected servers as tools of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from harness.mcp.calls import Call
from harness.mcp.connection import NotConnected
from harness.mcp.content import render
from harness.tool import Effect, Output, Refusal, Tool, ToolContext, ToolFailure, objection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.mcp.calls import Answer
    from harness.mcp.connection import Connection
    from harness.mcp.listing import Listed
    from harness.mcp.names import Origin
    from harness.tool import Arguments, Record

DESCRIPTION_CHARACTERS = 4000  # of what a server says of one tool
PROGRESS_SECONDS = 1.0  # between two words of progress in the audit trail
CHANGED = (
    "{origin} describes itself otherwise than when it was accepted, so it is not called; tell the person, "
    "who sees the difference and decides with `leadhand mcp accept {server}`"
)

Values = "Mapping[str, Sequence[object]]"  # `server/tool.argument` to what a person allows for it


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One tool of a server under the name that the model knows."""

    name: str
    origin: Origin
    tool: Listed  # as a person or the first sight accepted it
    has_changed: bool  # the server says something else by now


def make_tool(
    offer: Offer, connection: Connection, *, values: Mapping[str, Sequence[object]], record: Record
) -> Tool:
    """The tool; what it gives back is what the server answered, with the class of the outcome."""

    async def run(arguments: dict[str, Any], context: ToolContext) -> Output:
        call = Call(
            tool=offer.origin.tool,
            arguments=arguments,
            call_id=context.call_id,
            output_schema=offer.tool.output_schema,
            on_progress=_Progress(offer.origin, context, record),
        )
        answer = await connection.call(call)
        if not answer.was_sent:
            raise NotConnected(server=offer.origin.server, why=answer.outcome.detail or "it has just ended")
        _tell(offer.origin, answer, record)
        await context.distrust(f"an answer of the MCP server {offer.origin.server}", offer.origin.server)
        output = render(offer.origin, answer)
        if not answer.outcome.is_success:
            raise ToolFailure(str(answer.outcome.kind), output.text)
        return output

    return Tool(
        name=offer.name,
        description=f"[from MCP server {offer.origin.server}] {offer.tool.description}"[
            :DESCRIPTION_CHARACTERS
        ],
        input_schema=offer.tool.input_schema,
        run=run,
        effect=Effect.OUTSIDE,
        semantic=_checks(offer, values),
    )


def _checks(offer: Offer, values: Mapping[str, Sequence[object]]) -> Callable[[Arguments], Refusal | None]:
    prefix = f"{offer.origin}."
    allowed = {key.removeprefix(prefix): of for key, of in values.items() if key.startswith(prefix)}

    def check(arguments: Arguments) -> Refusal | None:
        if offer.has_changed:
            text = CHANGED.format(origin=offer.origin, server=offer.origin.server)
            return objection("tool_changed", text)
        for name, listed in allowed.items():
            if name in arguments and not _is_among(arguments[name], listed):
                known = ", ".join(map(str, listed))
                return objection("value_not_allowed", f"{name} of {offer.origin} may only be one of: {known}")
        return None

    return check


def _is_among(value: object, listed: Sequence[object]) -> bool:
    return any(value == item and type(value) is type(item) for item in listed)  # True is no 1


def _tell(origin: Origin, answer: Answer, record: Record) -> None:
    outcome = answer.outcome
    record(
        "mcp_called",
        server=origin.server,
        tool=origin.tool,
        outcome=str(outcome.kind),
        reason=outcome.reason,
        next_step=outcome.next_step,
    )


class _Progress:
    """Tells of progress, at most once a second, and that the call is alive."""

    def __init__(self, origin: Origin, context: ToolContext, record: Record) -> None:
        self._origin = origin
        self._context = context
        self._record = record
        self._next = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self._context.progress()
        if anyio.current_time() >= self._next:
            self._next = anyio.current_time() + PROGRESS_SECONDS
            part = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            words = f"{part} {message or ''}".strip()
            self._record("mcp_progress", server=self._origin.server, tool=self._origin.tool, progress=words)
