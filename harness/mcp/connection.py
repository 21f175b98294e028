"""One server and the one task that talks to it: connect, list, call, notice its death, connect again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from math import inf
from typing import TYPE_CHECKING

import anyio

from coordination.errors import TeamError
from harness.mcp.calls import Answer, Call, Calls
from harness.mcp.failures import failures, leaf
from harness.mcp.listing import Listed, follow, list_tools
from harness.mcp.transports import Surroundings, transport
from harness.mcp.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from mcp import Client

    from harness.mcp.config import Server

FIRST_PAUSE_SECONDS = 0.5  # before a lost server is connected again, doubled each time
LONGEST_PAUSE_SECONDS = 30.0
LAST_WORDS_SECONDS = 0.1  # for calls to end with what the SDK says of a lost connection
ATTEMPTS = 8  # in a row without success; then somebody has to ask for it


class State(StrEnum):
    """Where a connection stands."""

    CONNECTING = "connecting"
    READY = "ready"
    LOST = "lost"  # will be connected again
    FAILED = "failed"  # will not
    CLOSED = "closed"


@dataclass(eq=False)
class ConnectFailed(TeamError):
    """A server could not be connected."""

    server: str
    why: str
    says = "{server} could not be connected: {why}"


@dataclass(eq=False)
class NotConnected(TeamError):
    """There is no connection at this moment, and nothing was sent."""

    server: str
    why: str
    says = "{server} is not connected ({why}); nothing was sent, so the call may be made again later"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the server said of itself."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """In seconds."""

    connect_seconds: float
    call_seconds: float  # where the entry of the server says nothing


class Connection:
    """Serves callers of any task; all that touches the server happens in `run`."""

    def __init__(
        self,
        server: Server,
        around: Surroundings,
        limits: Limits,
        on_change: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_change` is awaited whenever the state or the tools may be others than before."""
        self.server = server
        self.state = State.CONNECTING
        self.why = ""  # it is not ready
        self.facts = Facts()
        self.tools: Sequence[Listed] = ()
        self._around = around
        self._limits = limits
        self._on_change = on_change
        self._settled = anyio.Event()  # the first attempt has come to an end
        self._closing = anyio.Event()
        self._stale = anyio.Event()  # the tools may have changed
        self._calls: Calls | None = None
        self._failures = 0  # in a row
        self._home: Path | None = None  # where its own process was started

    async def run(self) -> None:
        """The connection lives until it is closed, cancelled, or fails for good; raises nothing else."""
        try:
            while not self._closing.is_set():
                await self._live()
                if self._closing.is_set() or self.state is State.FAILED:
                    break
                await self._on_change()
                await self._pause()
        finally:
            if self.state is not State.FAILED:
                self.state, self.why = State.CLOSED, "it was closed"
            self._settled.set()
        await self._on_change()

    async def ready(self) -> None:
        """The first attempt succeeded. Raises ConnectFailed."""
        await self._settled.wait()
        if self.state is not State.READY:
            raise ConnectFailed(server=self.server.name, why=self.why)

    def close(self) -> None:
        """The connection ends soon, and its server with it."""
        self._closing.set()

    async def call(self, call: Call) -> Answer:
        """What came of the call, whatever happens to the server meanwhile. Raises NotConnected."""
        if self._home and self._around.cwd() != self._home:
            self.close()
            self.why = "it was started in the tree of another task; connect it again with connect_mcp"
        if self._calls is None or self._closing.is_set() or self.state is not State.READY:
            raise NotConnected(server=self.server.name, why=self.why or str(self.state))
        return await self._calls.make(call, seconds=self.server.timeout_seconds or self._limits.call_seconds)

    async def _live(self) -> None:
        """From one attempt to the end of what came of it; the state says how it ended."""
        was_ready, wire = False, Wire()
        self.why = ""
        with anyio.CancelScope() as limit:
            limit.deadline = anyio.current_time() + self._limits.connect_seconds
            try:
                async with self._client(wire) as client:
                    self._home = wire.home
                    self.tools = await list_tools(client, wire)
                    limit.deadline, was_ready = inf, True
                    self._introduce(client)
                    await self._serve(client, wire)
            except* failures() as errors:
                self.why = leaf(errors)
        if limit.cancelled_caught and not was_ready:
            self.why = f"it was not ready after {self._limits.connect_seconds:g} s"
        self._ended(was_ready=was_ready)

    def _client(self, wire: Wire) -> Client:
        from mcp import Client  # noqa: PLC0415 - over a second, for whoever connects
        from mcp_types import Implementation  # noqa: PLC0415 - likewise

        return Client(
            transport(self.server, self._around, wire),
            message_handler=self._hear,
            client_info=Implementation(name="leadhand", version=version("leadhand")),
        )

    async def _hear(self, message: object) -> None:
        """Older servers say of their own accord that their tools changed."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._note_change()

    def _note_change(self) -> None:
        self._stale.set()

    def _introduce(self, client: Client) -> None:
        info = client.server_info
        self.facts = Facts(
            name=info.name if info else "",
            version=(info.version or "") if info else "",
            protocol=str(client.protocol_version),
            instructions=client.instructions or "",
        )

    async def _serve(self, client: Client, wire: Wire) -> None:
        """Calls are taken until the connection is to be closed, or is lost."""
        try:
            async with anyio.create_task_group() as group:
                self._calls = Calls(client, wire, group)
                group.start_soon(follow, client, self._note_change)
                group.start_soon(self._keep_listing, client, wire)
                self.state, self.why = State.READY, ""
                self._settled.set()
                await self._on_change()
                await self._closing_or(wire.ended)
                group.cancel_scope.cancel()
        finally:
            self.state, self._calls = State.LOST, None

    async def _keep_listing(self, client: Client, wire: Wire) -> None:
        while True:
            await self._stale.wait()
            self._stale = anyio.Event()
            self.tools = await list_tools(client, wire)
            await self._on_change()

    async def _closing_or(self, ended: anyio.Event) -> None:
        """Either of the two has happened."""
        async with anyio.create_task_group() as group:

            async def close_at(event: anyio.Event) -> None:
                await event.wait()
                group.cancel_scope.cancel()

            group.start_soon(close_at, ended)
            group.start_soon(close_at, self._closing)
        if ended.is_set() and not self._closing.is_set():
            self.why = "its process or connection ended"
            await anyio.sleep(LAST_WORDS_SECONDS)

    def _ended(self, *, was_ready: bool) -> None:
        self._failures = 0 if was_ready else self._failures + 1
        is_first = not self._settled.is_set()
        self.state = State.FAILED if is_first or self._failures >= ATTEMPTS else State.LOST
        self.why = self.why or "its connection ended"
        self._settled.set()

    async def _pause(self) -> None:
        seconds = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**self._failures)
        with anyio.move_on_after(seconds):
            await self._closing.wait()
