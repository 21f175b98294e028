"""All MCP servers of one agent: connected when it asks, their tools offered, ended with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from coordination.child import unconfined
from coordination.errors import TeamError
from harness.mcp.config import Entry, expand
from harness.mcp.connection import Connection, Limits, State
from harness.mcp.names import Naming, Origin, name_all
from harness.mcp.seen import changes
from harness.mcp.tools import Offer, make_tool
from harness.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from harness.mcp.config import Server
    from harness.mcp.listing import Listed
    from harness.mcp.seen import Seen
    from harness.mcp.transports import Surroundings
    from harness.tool import Record, Tool

INSTRUCTIONS_CHARACTERS = 2000  # of what a server says about itself


class Servers:
    """The configured servers; connections live in `serve`."""

    def __init__(  # noqa: PLR0913 - what a connection needs, named once
        self,
        configured: Mapping[str, Server],
        *,
        around: Surroundings,
        variables: Mapping[str, str],
        limits: Limits,
        seen: Seen,
        values: Mapping[str, Sequence[object]],
        record: Record,
    ) -> None:
        """`variables` fill in what the entries name; `values` are what a person allows for arguments."""
        self.configured = configured
        self.offer: Callable[[Sequence[Tool]], None] = lambda _: None  # told all tools whenever they change
        self._around = around
        self._variables = variables
        self._limits = limits
        self._seen = seen
        self._values = values
        self._record = record
        self._connections: dict[str, Connection] = {}
        self._offers: dict[str, Offer] = {}
        self._naming = Naming(offered={}, unnamed=())
        self._group: TaskGroup | None = None

    async def serve(self) -> None:
        """Servers can be connected until this is cancelled; then all of them end, side by side."""
        async with anyio.create_task_group() as self._group:
            await anyio.sleep_forever()

    async def connect(self, name: str) -> Connection:
        """The server is connected, its tools offered. Raises ToolFailure, ConnectFailed."""
        if name not in self.configured:
            known = ", ".join(self.configured) or "none"
            raise ToolFailure("unknown_server", f"there is no MCP server {name}; known are {known}")
        present = self._connections.get(name)
        if present and present.state in {State.READY, State.LOST, State.CONNECTING}:
            raise ToolFailure("already_connected", f"{name} is {present.state}: {self.tools_line(name)}")
        if self._group is None:
            raise ToolFailure("not_serving", "no server can be connected before the agent has begun")
        connection = Connection(self._filled(name), self._around, self._limits, self._renew)
        self._connections[name] = connection
        self._group.start_soon(connection.run)
        await connection.ready()
        await self._renew()
        self._record(
            "mcp_connected",
            server=name,
            protocol=connection.facts.protocol,
            tools=len(connection.tools),
            sandboxed=self._around.confine(name) is not unconfined,
        )
        return connection

    def _filled(self, name: str) -> Server:
        """The entry with its variables. Raises ToolFailure naming the first that is not set."""
        entry = expand(Entry(name=name, server=self.configured[name]), self._variables)
        if entry.errors:
            raise ToolFailure("not_configured", f"{entry.errors[0].text}; nothing was started")
        assert entry.server
        if entry.server.disabled:
            raise ToolFailure(
                "disabled", f"{name} is disabled in its configuration; the person can enable it"
            )
        return entry.server

    def connection(self, name: str) -> Connection | None:
        """That of the server, if it was ever asked for."""
        return self._connections.get(name)

    def offers(self, name: str) -> list[Offer]:
        """The tools of the server that an agent has."""
        return [offer for offer in self._offers.values() if offer.origin.server == name]

    def not_offered(self, name: str) -> list[str]:
        """Why each of the server's other tools is not among them."""
        unnamed = [str(of) for of in self._naming.unnamed if any(s.server == name for s in of.sources)]
        tools = self._connections[name].tools
        return unnamed + [f"{name}/{tool.name} is not offered: {tool.fault}" for tool in tools if tool.fault]

    def tools_line(self, name: str) -> str:
        """What the server offers, and what of it cannot be offered."""
        names = [offer.name for offer in self.offers(name)]
        line = f"{len(names)} tools" + (f": {', '.join(names)}" if names else "")
        return "; ".join([line, *self.not_offered(name)])

    def changed(self) -> list[Offer]:
        """The tools that say something else than was accepted."""
        return [offer for offer in self._offers.values() if offer.has_changed]

    async def _renew(self) -> None:
        """Names and tools follow what all servers list at this moment."""
        listed = {
            Origin(name, tool.name): tool
            for name, connection in self._connections.items()
            if connection.state in {State.READY, State.LOST}
            for tool in connection.tools
            if not tool.fault
        }
        self._naming = name_all(listed)
        try:
            offers = [
                await self._offered(name, origin, listed[origin])
                for name, origin in sorted(self._naming.offered.items())
            ]
        except TeamError as error:  # the team directory cannot be used now; what was offered stays
            self._record("mcp_not_renewed", error=str(error))
            return
        self._offers = {offer.name: offer for offer in offers}
        self.offer([self._tool(offer) for offer in offers])

    async def _offered(self, name: str, origin: Origin, tool: Listed) -> Offer:
        accepted = await anyio.to_thread.run_sync(self._seen.accepted, name, origin, tool)
        return Offer(name=name, origin=origin, tool=accepted, has_changed=bool(changes(accepted, tool)))

    def _tool(self, offer: Offer) -> Tool:
        connection = self._connections[offer.origin.server]
        return make_tool(offer, connection, values=self._values, record=self._record)
