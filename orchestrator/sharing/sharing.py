"""The lead's side of shared MCP servers: it starts the broker, and gives each agent streams to it."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import SocketStream

from coordination import layout, protocols
from coordination.child import tool_environment
from harness.mcp.assemble import variables
from harness.mcp.config import Entry, expand
from harness.mcp.lines import GONE
from harness.mcp.sharing.letters import Letters
from harness.mcp.sharing.link import AGENT, NUMBER, SERVER, WHY
from orchestrator.launchers.local import start_broker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from anyio.abc import TaskGroup

    from coordination.child import Confine
    from harness.catalogs import Catalogs
    from harness.settings.settings import Settings
    from harness.tool import Record
    from orchestrator.launchers.launcher import StartedProcess
    from orchestrator.lead.opening import Opened

PATIENCE_SECONDS = 10.0  # for the servers to end once the broker is told to
BROKER = "mcp-broker"  # in the name of its log


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a broker is to hold, and how one is started with a descriptor of its socket."""

    servers: Mapping[str, Any]  # as servers are pinned, variables filled in; empty: nothing is shared
    start: Callable[[Mapping[str, Any], int], StartedProcess]
    around: Mapping[str, Any] = field(default_factory=dict)  # directory, environment, who is in which sandbox


def held_for(opened: Opened, settings: Settings, catalogs: Catalogs, confine: Confine) -> Held:
    """What the broker of this run's host holds: every usable server that its entry says is shared.

    `confine` is for those that the repository brings along.
    """
    team, configured = opened.team, catalogs.configured
    entries = [Entry(name=name, server=of) for name, of in configured.items() if of.share and not of.disabled]
    filled = [expand(entry, variables(settings)) for entry in entries]
    usable = [entry.server for entry in filled if entry.server and not entry.errors]
    return Held(
        servers={server.name: {**asdict(server), "args": list(server.args)} for server in usable},
        start=partial(start_broker, root=team.root, log=team.root / layout.process_log(BROKER)),
        around={
            "cwd": str(team.repository),
            "environment": tool_environment(passed=settings.environment_pass),
            "inside": [server.name for server in usable if catalogs.is_of_repository(server.name)],
            "sandbox": confine([], team.repository) if usable else [],
        },
    )


class Sharing:
    """Belongs to the lead's event loop, but for `link`."""

    def __init__(self, held: Held, record: Record) -> None:
        self._held = held
        self._record = record
        self._group: TaskGroup | None = None
        self._control: Letters | None = None  # to the broker; None while none runs
        self._process: StartedProcess | None = None
        self._lock = anyio.Lock()

    async def during(self, work: Callable[[], Awaitable[None]]) -> None:
        """Agents get streams while the work goes on; then the broker ends, and all that it holds."""
        try:
            async with anyio.create_task_group() as self._group:
                try:
                    await work()
                finally:
                    self._group.cancel_scope.cancel()
        finally:
            self._group = None
            with anyio.CancelScope(shield=True):
                await self._end_broker()

    def link(self, agent: str) -> socket.socket | None:
        """The end of a socket for a process that is to be this agent; its other end is served.

        To be called in a worker thread of the lead's event loop. None where nothing is shared.
        """
        if self._group is None or not self._held.servers:
            return None
        mine, theirs = socket.socketpair()
        anyio.from_thread.run_sync(self._group.start_soon, self._serve_link, agent, mine)
        return theirs

    async def of_lead(self, server: str) -> SocketStream | None:
        """A stream for the lead's own agent."""
        if self._group is None or server not in self._held.servers:
            return None
        return await SocketStream.from_socket(await self._stream(protocols.LEAD, server))

    async def _serve_link(self, agent: str, mine: socket.socket) -> None:
        with Letters(mine) as link, suppress(*GONE):  # gone is the agent
            while True:
                asked, _ = await link.receive()
                number = {NUMBER: asked[NUMBER]}
                try:
                    stream = await self._stream(agent, asked[SERVER])
                except OSError as error:
                    await link.send(number | {WHY: f"no broker could be started: {error.strerror}"})
                else:
                    with stream:
                        await link.send(number, stream)

    async def _stream(self, agent: str, server: str) -> socket.socket:
        """A stream to the server, marked as this agent's by the host. Raises OSError without a broker."""
        mine, theirs = socket.socketpair()
        letter = {AGENT: agent, SERVER: server}
        with ExitStack() as undo, theirs:
            undo.enter_context(mine)
            try:
                await self._hand_over(letter, theirs)
            except GONE:  # it has died since it was looked at last
                self._drop_control()
                await self._hand_over(letter, theirs)
            undo.pop_all()
        return mine

    async def _hand_over(self, letter: dict[str, Any], theirs: socket.socket) -> None:
        async with self._lock:
            self._control = control = self._control or await self._start_broker()
            await control.send(letter, theirs)

    async def _start_broker(self) -> Letters:
        await self._end_broker()
        mine, theirs = socket.socketpair()
        given = {"servers": dict(self._held.servers), **self._held.around}
        with theirs:
            self._process = await anyio.to_thread.run_sync(self._held.start, given, theirs.fileno())
        control = Letters(mine)
        self._record("mcp_broker_started", pid=self._process.pid, servers=sorted(self._held.servers))
        assert self._group
        self._group.start_soon(self._hear, control)
        return control

    async def _hear(self, control: Letters) -> None:
        """Every call that an agent made over a shared connection is on record, as the broker saw it."""
        with suppress(*GONE):
            while True:
                told, _ = await control.receive()
                self._record("mcp_relayed", member=told.pop(AGENT), **told)
        if self._control is control:
            self._drop_control()
            self._record("mcp_broker_lost")

    def _drop_control(self) -> None:
        """The next to want a stream finds that a broker has to be started."""
        if self._control:
            self._control.close()
        self._control = None

    async def _end_broker(self) -> None:
        """A broker whose socket is closed ends by itself; one that does not is ended."""
        self._drop_control()
        if self._process:
            process, self._process = self._process, None
            await anyio.to_thread.run_sync(lambda: process.stop(patience_seconds=PATIENCE_SECONDS))
