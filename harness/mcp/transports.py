"""The way to a server, by its configuration."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coordination.child import unconfined
from harness.mcp.config import Transport
from harness.mcp.sharing.link import shared
from harness.mcp.stdio import ServerProcess, stdio
from harness.mcp.wire import TappedReads, TappedWrites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from anyio.abc import SocketStream
    from mcp.client._transport import TransportStreams

    from coordination.child import Confine
    from harness.mcp.config import Server
    from harness.mcp.wire import Wire

    # By server, a stream to it through the broker of the host; None where there is no broker to ask.
    WayToShared = Callable[[str], Awaitable[SocketStream | None]]


def _discard(server: str) -> int:  # noqa: ARG001 - the shape of an opener of logs
    return os.open(os.devnull, os.O_WRONLY)


async def alone(server: str) -> None:
    """There is no broker."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What servers are started in."""

    cwd: Callable[[], Path]  # asked at each start: the tree of a task may change
    environment: Callable[[], Mapping[str, str]]  # all that they may see beside their own entries
    confine: Callable[[str], Confine] = lambda _: unconfined  # by server, where it runs
    open_log: Callable[[str], int] = field(default=_discard)  # by server, a descriptor to write to
    shared: WayToShared = field(default=alone)


@asynccontextmanager
async def transport(server: Server, around: Surroundings, wire: Wire) -> AsyncIterator[TransportStreams]:
    """The streams to the server; `wire` sees everything. Raises CommandMissing, NotShared, OSError."""
    if server.share and (stream := await around.shared(server.name)):
        with _log(server, around) as log:
            async with shared(server, stream, wire, log) as streams:
                yield streams
    else:
        async with _own(server, around, wire) as streams:
            yield streams


@asynccontextmanager
async def _own(server: Server, around: Surroundings, wire: Wire) -> AsyncIterator[TransportStreams]:
    match server.transport:
        case Transport.STDIO:
            async with _process(server, around, wire) as streams:
                yield streams
        case Transport.HTTP:
            from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - slow

            from harness.mcp.http_client import Client  # noqa: PLC0415 - likewise

            async with (
                Client(server.headers) as client,
                streamable_http_client(server.url, http_client=client) as (reads, writes),
            ):
                yield TappedReads(reads, wire), TappedWrites(writes, wire)
        case Transport.SSE:
            from mcp.client.sse import sse_client  # noqa: PLC0415 - slow

            async with sse_client(server.url, headers=dict(server.headers)) as (reads, writes):
                yield TappedReads(reads, wire), TappedWrites(writes, wire)


@asynccontextmanager
async def _process(server: Server, around: Surroundings, wire: Wire) -> AsyncIterator[TransportStreams]:
    wire.home = around.cwd()
    process = ServerProcess(
        command=server.command,
        args=server.args,
        env={**around.environment(), **server.env},
        cwd=wire.home / server.cwd,
        confine=around.confine(server.name),
    )
    with _log(server, around) as log:
        async with stdio(process, wire, log) as streams:
            yield streams


@contextmanager
def _log(server: Server, around: Surroundings) -> Iterator[int]:
    log = around.open_log(server.name)
    try:
        yield log
    finally:
        os.close(log)
