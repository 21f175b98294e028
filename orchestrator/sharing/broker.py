"""The process that holds the shared MCP servers of a host: `python -P -m orchestrator.sharing.broker`.

It is given what to hold on its standard input, and over an inherited socket, from its lead, one stream
for each agent and server. It ends when that socket does, and its servers with it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio import WouldBlock
from anyio.abc import SocketStream

from coordination.child import unconfined
from coordination.team_root import open_team
from harness.mcp.assemble import open_log
from harness.mcp.config_file import servers_from_json
from harness.mcp.lines import GONE, as_line
from harness.mcp.sharing.letters import Letters
from harness.mcp.sharing.link import AGENT, SERVER, WHY
from harness.mcp.sharing.relay import Relay
from harness.mcp.transports import Surroundings
from harness.stop_signals import until_stopped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import TaskGroup

    from coordination.files import StateDirectory
    from harness.mcp.config import Server
    from harness.mcp.sharing.switchboard import Caller

SHARED = "shared"  # in the name of a log, where an agent's stands for a server of its own


class Broker:
    """Relays by server, each begun with the first agent that wants it, and anew after its end."""

    def __init__(
        self, servers: Mapping[str, Server], around: Surroundings, control: Letters, group: TaskGroup
    ) -> None:
        self._servers = servers
        self._around = around
        self._control = control
        self._group = group
        self._relays: dict[str, Relay] = {}
        self._told, self._to_tell = anyio.create_memory_object_stream[dict[str, str]](10_000)

    async def run(self) -> None:
        """Streams are taken until the lead is gone."""
        self._group.start_soon(self._tell)
        while True:
            letter, end = await self._control.receive()
            assert end
            stream = await SocketStream.from_socket(end)
            self._group.start_soon(self._attach, letter[AGENT], letter[SERVER], stream)

    async def _attach(self, agent: str, server: str, stream: SocketStream) -> None:
        relay = self._relays.get(server)
        if relay is None or relay.has_ended:
            if server not in self._servers:
                await stream.send(as_line({WHY: "its entry cannot be used; see `leadhand mcp`"}))
                await stream.aclose()
                return
            relay = Relay(self._servers[server], self._around, partial(self._ended, server))
            self._relays[server] = relay
            self._group.start_soon(relay.run)
        await relay.attach(agent, stream)

    def _ended(self, server: str, caller: Caller, tool: str, call: str, how: str) -> None:
        told = {AGENT: caller.name, SERVER: server, "tool": tool, "call": call, "ended": how}
        with suppress(WouldBlock):  # the lead stands still; its agents still have their own record
            self._told.send_nowait(told)

    async def _tell(self) -> None:
        async for told in self._to_tell:
            with suppress(*GONE):
                await self._control.send(told)


async def serve(given: Mapping[str, Any], directory: StateDirectory, control: socket.socket) -> None:
    """Servers are held until the lead's end of the socket is closed, or a signal comes."""
    around = Surroundings(
        cwd=lambda: Path(given["cwd"]),
        environment=lambda: given["environment"],
        confine=lambda server: (
            partial(_inside, given["sandbox"]) if server in given["inside"] else unconfined
        ),
        open_log=lambda server: open_log(directory, server, SHARED),
    )
    servers = servers_from_json(given["servers"])
    with anyio.CancelScope() as scope:

        async def hold() -> None:
            with Letters(control) as letters:
                async with anyio.create_task_group() as group:
                    with suppress(*GONE):
                        await Broker(servers, around, letters, group).run()
                    group.cancel_scope.cancel()

        await until_stopped(hold, lambda _: scope.cancel())


def _inside(sandbox: Sequence[str], command: Sequence[str], cwd: Path, /) -> list[str]:
    """The command as the lead would confine it in the person's checkout; without a sandbox as it is."""
    if not sandbox:
        return list(command)
    *options, end = sandbox
    return [*options, "--chdir", str(cwd), end, *command]


def main() -> None:
    """Hold servers for the lead that started this."""
    parser = argparse.ArgumentParser(prog="mcp broker", description=__doc__)
    parser.add_argument("--team", type=Path, required=True, help="the team root")
    parser.add_argument("--control", type=int, required=True, help="descriptor of the socket to the lead")
    options = parser.parse_args()
    try:
        given = json.load(sys.stdin)
    except ValueError:  # the lead died in this very moment, so nobody asks for servers
        return
    control = socket.socket(fileno=options.control)
    os.set_inheritable(options.control, False)  # no server has a say here
    anyio.run(serve, given, open_team(options.team).directory, control)


if __name__ == "__main__":
    main()
