"""Calls over one connection: each ends with an answer, whatever becomes of server and caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from harness.mcp.failures import failures, first_leaf
from harness.mcp.outcome import Outcome, classify, no_response
from harness.mcp.wire import CALL_MARK

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT

    from harness.mcp.wire import Exchange, Wire

# Codes with which the SDK and its transports report what never came.
TIMED_OUT = -32001
CLOSED = -32000
LOST = "connection_lost"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool of the server, and what it is called with."""

    tool: str  # as the server calls it
    arguments: dict[str, Any]  # handed over as one value, so that no name in it means anything here
    call_id: str
    output_schema: dict[str, Any] | None = None
    on_progress: ProgressFnT | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of a call."""

    outcome: Outcome
    raw: Any = None  # the response as it came; None if none did
    was_sent: bool = True


@dataclass
class _Order:
    """A call on its way through the task of the connection."""

    call: Call
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None


class Calls:
    """Makes calls in the task group of the connection, which outlives no connection."""

    def __init__(self, client: Client, wire: Wire, group: TaskGroup) -> None:
        self._client = client
        self._wire = wire
        self._group = group

    async def make(self, call: Call, *, seconds: float) -> Answer:
        """The answer; none is ever sent again. A cancelled caller cancels the call at the server."""
        order = _Order(call)
        self._group.start_soon(self._carry, order, seconds)
        try:
            await order.done.wait()
        finally:
            order.scope.cancel()
        assert order.answer
        return order.answer

    async def _carry(self, order: _Order, seconds: float) -> None:
        call, error = order.call, None
        exchange = self._wire.open(call.call_id)
        try:
            with order.scope:
                try:
                    await self._send(call, exchange, seconds)
                except* failures() as errors:
                    error = first_leaf(errors)
        finally:
            self._wire.close(call.call_id)
            order.answer = _answer(call, exchange, error, seconds, is_relayed=self._wire.is_relayed)
            order.done.set()
            if order.answer.outcome.reason == LOST:
                self._wire.ended.set()  # transports over HTTP do not always notice it themselves

    async def _send(self, call: Call, exchange: Exchange, seconds: float) -> None:
        """Returns once there is a response, or raises what the SDK does without one."""
        mark: Any = {CALL_MARK: call.call_id}
        async with anyio.create_task_group() as group:

            async def give_up_at_fault() -> None:
                await exchange.is_at_fault.wait()
                group.cancel_scope.cancel()

            group.start_soon(give_up_at_fault)
            await self._client.call_tool(
                call.tool,
                call.arguments,
                read_timeout_seconds=seconds,
                progress_callback=call.on_progress,
                meta=mark,
            )
            group.cancel_scope.cancel()


def _answer(
    call: Call, exchange: Exchange, error: BaseException | None, seconds: float, *, is_relayed: bool
) -> Answer:
    if exchange.sent_id is None:
        return Answer(outcome=no_response("not_sent", str(error or "")), was_sent=False)
    is_made_up = is_relayed and getattr(error, "code", None) == CLOSED
    if exchange.raw is not None and not is_made_up:
        outcome = classify(exchange.raw, sent_id=exchange.sent_id, output_schema=call.output_schema)
        return Answer(outcome=outcome, raw=exchange.raw)
    if getattr(error, "code", None) == TIMED_OUT:
        return Answer(outcome=no_response("timed_out", f"no response came within {seconds:g} s"))
    return Answer(outcome=no_response(LOST, "the connection ended before a response came"))
