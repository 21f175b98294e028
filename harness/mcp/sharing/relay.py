"""One server that several agents use: its connection, and the stream of each agent."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio import DelimiterNotFound, WouldBlock

from harness.mcp.failures import failures, leaf
from harness.mcp.lines import GONE, as_line, lines_of
from harness.mcp.sharing.link import HEADERS, READY, WHY
from harness.mcp.sharing.switchboard import Caller, Switchboard
from harness.mcp.transports import transport
from harness.mcp.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import ByteStream
    from mcp.client._transport import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

    from harness.mcp.config import Server
    from harness.mcp.transports import Surroundings

UNREAD = 2000  # messages for an agent; one that does not read them is cut off


class Relay:
    """The server is connected once, by `run`; agents take part by `attach`, at any time until it ends."""

    def __init__(
        self, server: Server, around: Surroundings, ended: Callable[[Caller, str, str, str], None]
    ) -> None:
        """`ended` is told of every call, as by the switchboard."""
        self.has_ended = False
        self._server = server
        self._around = around
        self._board = Switchboard(ended)
        self._wire = _Tap(self._board)
        self._settled = anyio.Event()  # the connection stands, or never will
        self._why = ""
        self._news = anyio.Event()  # there may be something to send

    async def run(self) -> None:
        """The server has ended, or was cancelled with this; all agents' streams end with it."""
        try:
            async with (
                transport(self._server, self._around, self._wire) as (reads, writes),
                anyio.create_task_group() as group,
            ):
                self._settled.set()
                group.start_soon(self._hear, reads)
                group.start_soon(self._send, writes)
                await self._wire.ended.wait()
                group.cancel_scope.cancel()
        except* failures() as errors:
            self._why = leaf(errors)
        finally:
            self.has_ended = True
            self._board.lost()
            self._wire.ended.set()
            self._settled.set()

    async def _hear(self, reads: ReadStream[SessionMessage | Exception]) -> None:
        """The tap has everything; what is left over is read so that the next can come."""
        with suppress(*GONE):
            async for _ in reads:
                pass

    async def _send(self, writes: WriteStream[SessionMessage]) -> None:
        from mcp.shared.message import ClientMessageMetadata, SessionMessage  # noqa: PLC0415 - slow
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - likewise

        while True:
            if (raw := self._board.next()) is None:
                await self._news.wait()
                self._news = anyio.Event()
                continue
            headers = raw.pop(HEADERS, None)
            message = jsonrpc_message_adapter.validate_python(raw, by_name=False)
            metadata = ClientMessageMetadata(headers=headers) if headers else None
            await writes.send(SessionMessage(message, metadata=metadata))

    async def attach(self, name: str, stream: ByteStream) -> None:
        """The agent of this name uses the server through this stream until one of them ends."""
        async with stream:
            await self._settled.wait()
            with suppress(*GONE):
                if self.has_ended:
                    await stream.send(as_line({WHY: self._why or "it has just ended"}))
                    return
                await stream.send(as_line({READY: True}))
                await self._relay(name, stream)

    async def _relay(self, name: str, stream: ByteStream) -> None:
        unread, read = anyio.create_memory_object_stream[Any](UNREAD)
        async with anyio.create_task_group() as group:

            def deliver(message: object) -> None:
                try:
                    unread.send_nowait(message)
                except WouldBlock:
                    group.cancel_scope.cancel()

            async def pass_on() -> None:
                with suppress(*GONE):
                    async for message in read:
                        await stream.send(as_line(message))
                group.cancel_scope.cancel()

            async def end_with_server() -> None:
                await self._wire.ended.wait()
                self._board.lost()  # before each agent's end would cancel what nobody has any more
                group.cancel_scope.cancel()

            caller = Caller(name, deliver)
            self._board.join(caller)
            group.start_soon(pass_on)
            group.start_soon(end_with_server)
            try:
                await self._listen(caller, stream)
            finally:
                self._board.leave(caller)
                self._news.set()
                unread.close()
                read.close()
            group.cancel_scope.cancel()

    async def _listen(self, caller: Caller, stream: ByteStream) -> None:
        with suppress(*GONE, DelimiterNotFound):
            async for line in lines_of(stream):
                with suppress(ValueError, TypeError, AttributeError):  # a line that no agent of ours writes
                    self._board.from_agent(caller, json.loads(line))
                self._news.set()


class _Tap(Wire):
    """Everything that the server says goes to the switchboard, and nothing to the SDK."""

    def __init__(self, board: Switchboard) -> None:
        super().__init__()
        self._board = board

    def sent(self, message: dict[str, Any]) -> None:
        """It came from the switchboard."""

    def received(self, message: Any) -> bool:  # noqa: ANN401 - raw JSON
        self._board.from_server(message)
        return False
