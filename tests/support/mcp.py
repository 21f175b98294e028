"""An agent's MCP servers over real processes, with a pool to call their tools through."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import psutil

from harness.mcp.config import Server, Transport
from harness.mcp.connection import Limits
from harness.mcp.seen import SeenByNobody
from harness.mcp.servers import Servers
from harness.mcp.transports import Surroundings, alone
from harness.tools.mcp import connect_mcp
from tests.support.tools import Trail, call, pool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from harness.mcp.seen import Seen
    from harness.mcp.transports import WayToShared
    from harness.tool import Guard
    from harness.tool_pool import ToolPool

FAULTY = Path(__file__).parent / "servers" / "faulty.py"


def faulty(
    name: str = "faulty", *words: str, seconds: float | None = None, share: bool = False, **env: str
) -> Server:
    """The server with these faults."""
    return Server(
        name=name,
        transport=Transport.STDIO,
        command=sys.executable,
        args=(str(FAULTY), *words),
        env=env,
        timeout_seconds=seconds,
        share=share,
    )


@dataclass
class Agent:
    """What a test calls tools with."""

    servers: Servers
    pool: ToolPool
    trail: Trail
    log: Path
    _calls: int = field(default=0)

    async def calls(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        self._calls += 1
        (result,) = await self.pool.run([call(name, f"call_{self._calls}", **arguments)])
        return result

    async def says(self, name: str, /, **arguments: Any) -> str:
        content = (await self.calls(name, **arguments))["content"]
        return content if isinstance(content, str) else str(content[0]["text"])

    def names(self) -> list[str]:
        return [name for name in self.pool.names if name.startswith("mcp__")]


@asynccontextmanager
async def agent(
    place: Path,
    *servers: Server,
    guards: Sequence[Guard] = (),
    seen: Seen | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    variables: Mapping[str, str] | None = None,
    cwd: Callable[[], Path] | None = None,
    connect_seconds: float = 20,
    shared: WayToShared = alone,
) -> AsyncIterator[Agent]:
    """Servers that can be connected; afterwards they have ended."""
    trail = Trail()
    log = place / "servers.log"
    around = Surroundings(
        cwd=cwd or (lambda: place),
        environment=lambda: {"PATH": os.environ["PATH"]},
        open_log=lambda _: os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        shared=shared,
    )
    made = Servers(
        {server.name: server for server in servers},
        around=around,
        variables=variables or {},
        limits=Limits(connect_seconds=connect_seconds, call_seconds=10),
        seen=seen or SeenByNobody(),
        values=values or {},
        record=trail,
    )
    work = place / "work"
    work.mkdir(exist_ok=True)
    tools = pool([connect_mcp(made)], work, guards, trail=trail)
    made.offer = tools.offer
    async with anyio.create_task_group() as group:
        group.start_soon(made.serve)
        await anyio.lowlevel.checkpoint()
        yield Agent(made, tools, trail, log)
        group.cancel_scope.cancel()


def processes_with(word: str) -> list[psutil.Process]:
    """Those with the word among their arguments."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if word in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """The condition holds, or the test fails."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - what it waits for is another process
            await anyio.sleep(0.02)
