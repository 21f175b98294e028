"""Agents of one host in one test, with a real broker process between them and their servers."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from coordination import layout
from harness.mcp.sharing.link import Link
from orchestrator.launchers.local import start_broker
from orchestrator.sharing.sharing import Held, Sharing
from tests.support.mcp import agent
from tests.support.tools import Trail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from coordination.team_root import Team
    from harness.mcp.config import Server
    from tests.support.mcp import Agent


@dataclass
class Host:
    """A lead's side of sharing, and what it put on record."""

    sharing: Sharing
    trail: Trail
    place: Path
    servers: tuple[Server, ...]
    is_over: anyio.Event = field(default_factory=anyio.Event)
    has_ended: anyio.Event = field(default_factory=anyio.Event)

    async def end(self) -> None:
        """The lead is gone, and its broker."""
        self.is_over.set()
        await self.has_ended.wait()

    async def link(self, name: str) -> Link:
        """What a process of this name inherits."""
        theirs = await anyio.to_thread.run_sync(self.sharing.link, name)
        assert theirs
        return Link(theirs.detach())

    @asynccontextmanager
    async def agent(self, name: str) -> AsyncIterator[Agent]:
        """One that has all the servers, none of them connected."""
        place = self.place / name
        place.mkdir()
        with await self.link(name) as link:
            async with agent(place, *self.servers, shared=link, connect_seconds=90) as one:
                yield one

    @property
    def brokers(self) -> list[int]:
        """The pids of all that were started."""
        return [int(of["pid"]) for of in self.trail.events if of["action"] == "mcp_broker_started"]

    def calls(self, ended: str) -> list[tuple[str, str]]:
        """Who made which call that ended so, as the broker saw it."""
        return [
            (of["member"], of["tool"])
            for of in self.trail.events
            if of["action"] == "mcp_relayed" and of["ended"] == ended
        ]


@asynccontextmanager
async def host(team: Team, place: Path, *servers: Server) -> AsyncIterator[Host]:
    """Agents can have links; afterwards no broker runs, nor a server that it held."""
    team.directory.make(layout.LOGS)
    held = Held(
        servers={of.name: {**asdict(of), "args": list(of.args)} for of in servers},
        start=partial(start_broker, root=team.root, log=team.root / layout.process_log("mcp-broker")),
        around={
            "cwd": str(place),
            "environment": {"PATH": os.environ["PATH"]},
            "inside": [],
            "sandbox": [],
        },
    )
    trail = Trail()
    here = Host(Sharing(held, trail), trail, place, servers)
    is_up = anyio.Event()

    async def work() -> None:
        is_up.set()
        await here.is_over.wait()

    async def lead() -> None:
        await here.sharing.during(work)
        here.has_ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(lead)
        await is_up.wait()
        yield here
        await here.end()
