"""Messages as lines of JSON over a pair of byte streams."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio import DelimiterNotFound, IncompleteRead
from anyio.streams.buffered import BufferedByteReceiveStream

from harness.mcp.wire import as_raw

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.abc import ByteReceiveStream, ByteSendStream
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    from harness.mcp.wire import Wire

LINE_BYTES = 32_000_000  # of one message; a longer one is no answer to a conversation
GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


async def lines_of(stream: ByteReceiveStream) -> AsyncIterator[bytes]:
    """Whole lines until the stream ends. Raises DelimiterNotFound for one that is too long, and GONE."""
    buffered = BufferedByteReceiveStream(stream)
    with suppress(IncompleteRead):
        while True:
            line = await buffered.receive_until(b"\n", LINE_BYTES)
            if line.strip():
                yield line


class Lines:
    """The streams of the SDK over those of bytes; `wire` sees everything first."""

    def __init__(self, reads: ByteReceiveStream, writes: ByteSendStream, wire: Wire, log: int) -> None:
        """`log` is a descriptor for what comes in and is no message."""
        self._reads = reads
        self._writes = writes
        self._wire = wire
        self._log = log
        self._read: MemoryObjectSendStream[SessionMessage | Exception]
        self._read, self.incoming = anyio.create_memory_object_stream[Any](0)
        self._written: MemoryObjectReceiveStream[SessionMessage]
        self.outgoing, self._written = anyio.create_memory_object_stream[Any](0)

    async def read(self) -> None:
        """Lines become messages until the input ends."""
        async with self._read:
            with suppress(*GONE):
                try:
                    async for line in lines_of(self._reads):
                        await self._take(line)
                except DelimiterNotFound:
                    self._note(b"leadhand: a message was longer than allowed; the connection is closed\n")
        self._wire.ended.set()

    async def _take(self, line: bytes) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - over a second, for a connection only
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - likewise

        try:
            raw = json.loads(line)
        except ValueError:  # a banner, a stray print: no harm to the messages around it
            self._note(line)
            return
        if not self._wire.received(raw):
            return
        try:
            message = jsonrpc_message_adapter.validate_python(raw, by_name=False)
        except ValueError:
            self._note(line)
            return
        await self._read.send(SessionMessage(message))

    async def write(self) -> None:
        """Messages become lines until there is no more to send, or nobody reads."""
        with suppress(*GONE):
            async for item in self._written:
                raw = as_raw(item)
                self._wire.sent(raw)
                await self._writes.send(as_line(self._framed(item, raw)))
        await self._read.aclose()

    def _framed(self, item: SessionMessage, raw: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - for others
        return raw

    async def end(self) -> None:
        """Nothing more comes in."""
        await self._read.aclose()
        self._wire.ended.set()

    def close(self) -> None:
        """Whoever still holds an end of the streams finds it closed."""
        for stream in (self._read, self.incoming, self.outgoing, self._written):
            stream.close()

    def _note(self, line: bytes) -> None:
        with suppress(OSError):  # the log is a courtesy
            os.write(self._log, line + b"\n")


def as_line(raw: object) -> bytes:
    """One line of JSON."""
    return json.dumps(raw, separators=(",", ":")).encode() + b"\n"
