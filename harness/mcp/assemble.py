"""The MCP servers of one agent, put together from what its run pinned."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from coordination import layout
from coordination.child import tool_environment, unconfined
from harness.mcp.config import variables_of
from harness.mcp.connection import Limits
from harness.mcp.seen import SeenByTeam
from harness.mcp.servers import Servers
from harness.mcp.transports import Surroundings
from harness.tools.mcp import connect_mcp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from coordination.child import Confine
    from coordination.files import StateDirectory
    from harness.mcp.config import Server
    from harness.mcp.transports import WayToShared
    from harness.settings.settings import Settings
    from harness.tool import Record, Tool

SECRET_CHARACTERS = 6  # a shorter value of a variable is no secret, and would be found everywhere


def make_servers(  # noqa: PLR0913 - the parts of one agent, named once
    configured: Mapping[str, Server],
    settings: Settings,
    directory: StateDirectory,
    *,
    agent: str,
    cwd: Callable[[], Path],
    record: Record,
    shared: WayToShared,
    confine: Callable[[str], Confine] = lambda _: unconfined,
) -> Servers:
    """The servers of the agent of this name, none of them connected; its own ones start in `cwd`.

    `confine` says where the server of a name runs.
    """
    around = Surroundings(
        cwd=cwd,
        environment=lambda: tool_environment(passed=settings.environment_pass),
        confine=confine,
        open_log=lambda server: open_log(directory, server, agent),
        shared=shared,
    )
    return Servers(
        configured,
        around=around,
        variables=variables(settings),
        limits=Limits(connect_seconds=settings.mcp_connect_seconds, call_seconds=settings.mcp_call_seconds),
        seen=SeenByTeam(directory),
        values=settings.mcp_values,
        record=record,
    )


def server_tools(servers: Servers) -> list[Tool]:
    """What an agent has before it connected one; nothing without servers."""
    return [connect_mcp(servers)] if servers.configured else []


def open_log(directory: StateDirectory, server: str, agent: str) -> int:
    """A descriptor to append to what the server of this agent says beside the protocol."""
    directory.make(layout.LOGS)
    return directory.open_append(layout.process_log(f"mcp-{re.sub(r'[^A-Za-z0-9_-]', '_', server)}-{agent}"))


def variables(settings: Settings) -> dict[str, str]:
    """What entries may name: the environment, and what the lead's host handed on."""
    return {**settings.mcp_variables, **os.environ}


def named_variables(configured: Iterable[Server], settings: Settings) -> dict[str, str]:
    """Those of them that the servers name: for processes whose environment does not have them."""
    known = variables(settings)
    names = {name for server in configured for name in variables_of(server)}
    return {name: known[name] for name in sorted(names) if name in known}


def secrets_of(configured: Iterable[Server], settings: Settings) -> list[str]:
    """Their values, which belong into no journal."""
    values = named_variables(configured, settings).values()
    return [value for value in values if len(value) >= SECRET_CHARACTERS]
