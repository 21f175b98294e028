"""An agent's way to shared servers: a stream from who started it, and the protocol on that."""

from __future__ import annotations

import json
import os
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from coordination.errors import TeamError
from harness.mcp.config import Transport
from harness.mcp.lines import GONE, Lines
from harness.mcp.sharing.letters import Letters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    from harness.mcp.config import Server
    from harness.mcp.wire import Wire

READY = "ready"  # the first line on a stream; else `WHY`, and the end
WHY = "why"
HEADERS = "leadhand.headers"  # beside a message: what goes with it where the server is reached over HTTP
NUMBER, SERVER, AGENT = "number", "server", "agent"  # in letters about a stream
FIRST_LINE_BYTES = 10_000


@dataclass(eq=False)
class NotShared(TeamError):
    """The host could not give a connection to a shared server."""

    server: str
    why: str
    says = "the shared connection to {server} does not stand: {why}"


class Link:
    """The end of a socket that the process inherited from its lead.

    A letter with a number and the name of a server asks for a stream; the answer has the number, and
    encloses the stream or says why there is none.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # neither a shell nor a server of our own has a say here
        self._letters = Letters(socket.socket(fileno=descriptor))
        self._is_gone = False
        self._asked = 0
        self._lock = anyio.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._letters.close()

    async def __call__(self, server: str) -> SocketStream | None:
        """A fresh stream to the server; None where nobody is left to give one. Raises NotShared."""
        async with self._lock:
            try:
                return None if self._is_gone else await self._ask(server)
            except GONE:
                self._is_gone = True
                return None

    async def _ask(self, server: str) -> SocketStream:
        self._asked += 1
        await self._letters.send({NUMBER: self._asked, SERVER: server})
        while True:
            answer, stream = await self._letters.receive()
            if answer[NUMBER] == self._asked:
                break
            if stream:  # for somebody who did not wait for it
                stream.close()
        if stream is None:
            raise NotShared(server=server, why=answer[WHY])
        return await SocketStream.from_socket(stream)


@asynccontextmanager
async def shared(
    server: Server, stream: SocketStream, wire: Wire, log: int
) -> AsyncIterator[TransportStreams]:
    """The streams to the server over a stream of its own. Raises NotShared."""
    async with stream:
        incoming = BufferedByteReceiveStream(stream)
        await _await_ready(server, incoming)
        wire.is_relayed = server.transport is not Transport.STDIO
        lines = _SharedLines(incoming, stream, wire, log)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(lines.read)
                group.start_soon(lines.write)
                yield lines.incoming, lines.outgoing
                group.cancel_scope.cancel()
        finally:
            lines.close()


async def _await_ready(server: Server, incoming: BufferedByteReceiveStream) -> None:
    try:
        first = json.loads(await incoming.receive_until(b"\n", FIRST_LINE_BYTES))
    except (*GONE, anyio.IncompleteRead, anyio.DelimiterNotFound) as error:
        raise NotShared(server=server.name, why="the broker of this host has ended") from error
    if READY not in first:
        raise NotShared(server=server.name, why=first[WHY])


class _SharedLines(Lines):
    """Lines that also say what goes with a message where the server is reached over HTTP."""

    def _framed(self, item: SessionMessage, raw: dict[str, Any]) -> dict[str, Any]:
        headers = getattr(item.metadata, "headers", None)
        return {**raw, HEADERS: headers} if headers else raw
