"""A person's look at MCP servers: as they are configured, and as they are when connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from coordination.errors import TeamError
from harness.mcp.assemble import variables
from harness.mcp.config import Transport, expand
from harness.mcp.connection import Limits
from harness.mcp.failures import first_leaf
from harness.mcp.seen import SeenByNobody, SeenByTeam, changes
from harness.mcp.servers import Servers
from harness.mcp.stdio import CommandMissing, ServerProcess, program_of
from harness.mcp.transports import Surroundings
from harness.permissions.judge import judge
from harness.permissions.rules import parse_rules
from harness.permissions.ruling import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coordination.team_root import Team
    from harness.mcp.config import Server
    from harness.mcp.config_file import Configured, Merged
    from harness.mcp.seen import Seen
    from harness.mcp.servers import Servers as ServersOf
    from harness.settings.settings import Settings


USABLE = {"ok", "warn"}  # states of an entry that can be connected
MISSING = "missing"  # of one whose program is not installed here


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look needs."""

    settings: Settings
    merged: Merged
    root: Path  # of the team
    repository: Path
    environment: Mapping[str, str]
    team: Team | None

    @property
    def policy(self) -> Policy:
        """What a teammate's calls are judged by."""
        settings = self.settings
        return Policy(rules=parse_rules(allow=settings.allow, ask=settings.ask, deny=settings.deny))


def listed(look: Look) -> list[dict[str, Any]]:
    """Every configured server; nothing is started."""
    return [_row(look, name, of) for name, of in look.merged.servers.items()]


def _row(look: Look, name: str, of: Configured) -> dict[str, Any]:
    entry = expand(of.entry, variables(look.settings))
    server = of.entry.server
    notes = [note.text for note in (*entry.errors, *entry.warnings)]
    row: dict[str, Any] = {"name": name, "source": of.source, "status": entry.status, "notes": notes}
    if server is None:
        return row
    if entry.server and server.transport is Transport.STDIO and entry.status in USABLE:
        row |= _missing(look, entry.server, notes)
    where = " ".join([server.command, *server.args]) or server.url  # as written: no secret is filled in
    connecting = judge(look.policy, "connect_mcp", {"name": name}).verdict
    return row | {
        "transport": str(server.transport),
        "starts": where,
        "shared": server.share,
        "connecting": str(connecting),
    }


def _missing(look: Look, server: Server, notes: list[str]) -> dict[str, Any]:
    """What the row says otherwise where the program is not installed."""
    cwd = look.repository / server.cwd
    env = {**look.environment, **server.env}
    try:
        program_of(ServerProcess(command=server.command, args=server.args, env=env, cwd=cwd))
    except CommandMissing as error:
        return {"status": MISSING, "notes": [*notes, str(error)]}
    return {}


def check(look: Look) -> list[dict[str, Any]]:
    """Every usable server is connected once, side by side, and what it said is told; then all have ended."""
    return anyio.run(_check, look)


async def _check(look: Look) -> list[dict[str, Any]]:
    seen = SeenByTeam(look.team.directory) if look.team else SeenByNobody()
    servers = _servers(look, seen)
    rows = listed(look)
    async with anyio.create_task_group() as group:
        group.start_soon(servers.serve)
        await anyio.lowlevel.checkpoint()
        async with anyio.create_task_group() as checks:
            for row in rows:
                if row["status"] == MISSING:
                    row |= {"health": "failed", "why": row["notes"].pop()}
                if row["status"] in USABLE:
                    checks.start_soon(_connect, look, servers, row)
        group.cancel_scope.cancel()
    return rows


async def _connect(look: Look, servers: ServersOf, row: dict[str, Any]) -> None:
    name = row["name"]
    begun = anyio.current_time()
    try:
        connection = await servers.connect(name)
    except TeamError as error:
        row |= {"health": "failed", "why": str(error)}
        return
    facts = connection.facts
    changed = {offer.origin.tool for offer in servers.changed() if offer.origin.server == name}
    row |= {
        "health": "ready",
        "seconds": round(anyio.current_time() - begun, 2),
        "server": f"{facts.name} {facts.version}".strip(),
        "protocol": facts.protocol,
        "tools": [
            {
                "name": offer.name,
                "tool": offer.origin.tool,
                "policy": str(judge(look.policy, offer.name, {}).verdict),
                "changed": offer.origin.tool in changed,
            }
            for offer in servers.offers(name)
        ],
        "not_offered": servers.not_offered(name),
    }


def _servers(look: Look, seen: Seen) -> Servers:
    settings = look.settings
    return Servers(
        {name: of.entry.server for name, of in look.merged.servers.items() if of.entry.server},
        around=Surroundings(cwd=lambda: look.repository, environment=lambda: look.environment),
        variables=variables(settings),
        limits=Limits(connect_seconds=settings.mcp_connect_seconds, call_seconds=settings.mcp_call_seconds),
        seen=seen,
        values={},
        record=lambda *_, **__: None,
    )


@dataclass(frozen=True, kw_only=True)
class Change:
    """A tool that says something else than was accepted."""

    tool: str
    difference: str


def changes_of(look: Look, team: Team, name: str, *, accept: bool) -> list[Change]:
    """What the server's tools say otherwise than when they were accepted; accepted now if asked for.

    Raises ToolFailure, ConnectFailed.
    """
    try:
        return anyio.run(_changes_of, look, team, name, accept)
    except ExceptionGroup as errors:  # of the task group around the connection
        raise first_leaf(errors) from errors


async def _changes_of(look: Look, team: Team, name: str, accept: bool) -> list[Change]:  # noqa: FBT001 - for anyio.run
    seen = SeenByTeam(team.directory)
    servers = _servers(look, seen)
    found: list[Change] = []
    async with anyio.create_task_group() as group:
        group.start_soon(servers.serve)
        await anyio.lowlevel.checkpoint()
        connection = await servers.connect(name)
        now = {tool.name: tool for tool in connection.tools}
        for offer in servers.changed():
            tool = now[offer.origin.tool]
            found.append(Change(tool=offer.origin.tool, difference=changes(offer.tool, tool)))
            if accept:
                seen.accept(offer.name, offer.origin, tool)
        group.cancel_scope.cancel()
    return found
