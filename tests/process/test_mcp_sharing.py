"""Servers that the agents of a host share: a real broker process between them and real servers."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
import pytest

from harness.mcp.config import Server, Transport
from tests.process.test_mcp import OUTCOMES, connected, refusing
from tests.support.mcp import faulty, processes_with, until
from tests.support.sharing import host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from coordination.team_root import Team
    from tests.support.mcp import Agent

pytestmark = pytest.mark.anyio
MODERN = Path(__file__).parents[1] / "support" / "servers" / "modern.py"


def noted(notes: Path, method: str) -> list[dict[str, object]]:
    """What the server was sent of this method."""
    messages = map(json.loads, notes.read_text().splitlines())
    return [message for message in messages if message.get("method") == method]


@asynccontextmanager
async def listening(program: Path) -> AsyncIterator[int]:
    """The port at which the program answers over HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [sys.executable, str(program), str(port)]
    async with await anyio.open_process(command, stdout=None, stderr=None) as process:
        with anyio.fail_after(60):
            while True:
                try:
                    stream = await anyio.connect_tcp("127.0.0.1", port)
                except OSError:
                    await anyio.sleep(0.1)
                else:
                    await stream.aclose()
                    break
        yield port
        process.kill()


async def works_again(one: Agent, tool: str = "mcp__faulty__echo") -> None:
    """The server can be called; a call before that is told that nothing was sent, or nothing came."""
    with anyio.fail_after(60):
        while "verify_business" not in await one.says(tool):  # noqa: ASYNC110 - of another process
            await anyio.sleep(0.05)


async def test_eight_agents_and_five_shared_servers_are_five_processes(team: Team, tmp_path: Path) -> None:
    names = [f"server{number}" for number in range(5)]
    servers = [faulty(name, "mark-shared", share=True) for name in names]
    async with host(team, tmp_path, *servers) as here, AsyncExitStack() as stack:
        agents = {f"w{n}": await stack.enter_async_context(here.agent(f"w{n}")) for n in range(8)}

        async def use(name: str, one: Agent) -> None:
            for server in names:
                assert "Connected to MCP server" in await connected(one, server)
                assert f'{{"by": "{name}"}}' in await one.says(f"mcp__{server}__echo", by=name)

        async with anyio.create_task_group() as group:
            for name, one in agents.items():
                group.start_soon(use, name, one)
        assert len(processes_with("mark-shared")) == 5
        await until(lambda: len(here.calls("answered")) == 40)
        assert sorted(here.calls("answered")) == sorted((name, "echo") for name in agents for _ in names)
        assert len(here.brokers) == 1
    await until(lambda: not processes_with("mark-shared") and not psutil.pid_exists(here.brokers[0]))


async def test_outcomes_and_progress_are_those_of_a_connection_of_ones_own(
    team: Team, tmp_path: Path
) -> None:
    async with host(team, tmp_path, faulty(share=True)) as here, here.agent("alice") as alice:
        await connected(alice)
        for response, kind in OUTCOMES:
            assert f"[{kind}" in await alice.says("mcp__faulty__raw", response=response)
        assert "verify_business" in await alice.says("mcp__faulty__echo", steps=1)
        assert "mcp_progress" in [event["action"] for event in alice.trail.events]
        assert "[link to a.txt" in await alice.says("mcp__faulty__image")
        assert "the whole result is in" in await alice.says("mcp__faulty__huge")


async def test_a_time_out_cancels_that_call_alone(team: Team, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = faulty(share=True, seconds=2, NOTES=str(notes))
    async with host(team, tmp_path, server) as here, here.agent("alice") as alice, here.agent("bob") as bob:
        await connected(alice)
        await connected(bob)
        async with anyio.create_task_group() as group:
            group.start_soon(alice.calls, "mcp__faulty__hang")
            assert "verify_business" in await bob.says("mcp__faulty__echo")
        (told,) = [of for of in alice.trail.events if of["action"] == "mcp_called"]
        assert told["reason"] == "timed_out"
        await until(lambda: here.calls("cancelled") == [("alice", "hang")])
        await until(lambda: noted(notes, "notifications/cancelled"))
        (call,) = [m for m in noted(notes, "tools/call") if "hang" in json.dumps(m)]
        (cancelled,) = noted(notes, "notifications/cancelled")
        assert cancelled["params"]["requestId"] == call["id"]  # type: ignore[index]


async def test_the_end_of_an_agent_cancels_its_calls_and_leaves_the_others(
    team: Team, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    server = faulty(share=True, NOTES=str(notes))
    async with host(team, tmp_path, server) as here, here.agent("bob") as bob:
        await connected(bob)
        async with here.agent("alice") as alice, anyio.create_task_group() as group:
            await connected(alice)
            group.start_soon(alice.calls, "mcp__faulty__hang")
            await until(lambda: noted(notes, "tools/call"))
            group.cancel_scope.cancel()
        await until(lambda: here.calls("cancelled") == [("alice", "hang")])
        assert "verify_business" in await bob.says("mcp__faulty__echo")
        assert len(noted(notes, "initialize")) == 1


async def test_every_agent_hears_that_the_tools_changed(team: Team, tmp_path: Path) -> None:
    async with (
        host(team, tmp_path, faulty(share=True)) as here,
        here.agent("alice") as alice,
        here.agent("bob") as bob,
    ):
        await connected(alice)
        await connected(bob)
        await bob.calls("mcp__faulty__rename")
        await until(lambda: "mcp__faulty__shout" in alice.names() and "mcp__faulty__shout" in bob.names())


async def test_a_killed_server_ends_the_calls_of_all_as_unknown_and_is_started_once(
    team: Team, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    server = faulty("faulty", "mark-kill", share=True, NOTES=str(notes))
    async with host(team, tmp_path, server) as here, here.agent("a") as a, here.agent("b") as b:
        for one in (a, b):
            await connected(one)
        async with anyio.create_task_group() as group:
            for one in (a, b):
                group.start_soon(one.calls, "mcp__faulty__hang")
            await until(lambda: len(noted(notes, "tools/call")) == 2)
            (process,) = processes_with("mark-kill")
            process.send_signal(signal.SIGKILL)
        for one in (a, b):
            (call,) = [of for of in one.trail.events if of["action"] == "mcp_called"]
            assert (call["outcome"], call["reason"]) == ("unknown", "connection_lost")
            await works_again(one)
        await until(lambda: len(processes_with("mark-kill")) == 1)
        await until(lambda: sorted(here.calls("lost")) == [("a", "hang"), ("b", "hang")])


async def test_a_killed_broker_is_started_anew_and_agents_connect_again(team: Team, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = faulty("faulty", "mark-broker", share=True, NOTES=str(notes))
    async with host(team, tmp_path, server) as here, here.agent("a") as a, here.agent("b") as b:
        for one in (a, b):
            await connected(one)
        async with anyio.create_task_group() as group:
            group.start_soon(a.calls, "mcp__faulty__hang")
            await until(lambda: noted(notes, "tools/call"))
            os.kill(here.brokers[0], signal.SIGKILL)
        (call,) = [of for of in a.trail.events if of["action"] == "mcp_called"]
        assert (call["outcome"], call["reason"]) == ("unknown", "connection_lost")
        for one in (a, b):
            await works_again(one)
        assert len(here.brokers) == 2
        await until(lambda: len(processes_with("mark-broker")) == 1)


async def test_without_a_lead_an_agent_connects_by_itself(team: Team, tmp_path: Path) -> None:
    server = faulty("faulty", "mark-alone", share=True)
    async with host(team, tmp_path, server) as here, here.agent("alice") as alice:
        await connected(alice)
        (shared,) = processes_with("mark-alone")
        await here.end()
        await until(lambda: not shared.is_running())
        await works_again(alice)
        await until(lambda: len(processes_with("mark-alone")) == 1)
    await until(lambda: not processes_with("mark-alone"))


async def test_a_shared_server_that_wants_a_token_is_told_with_what_to_do(team: Team, tmp_path: Path) -> None:
    async with refusing("401 Unauthorized") as url:
        server = Server(name="docs", transport=Transport.HTTP, url=url, share=True)
        async with host(team, tmp_path, server) as here, here.agent("alice") as alice:
            assert "Bearer ${NAME}" in await connected(alice, "docs")


async def test_a_server_that_cannot_be_started_is_told_with_the_reason(team: Team, tmp_path: Path) -> None:
    missing = Server(name="faulty", transport=Transport.STDIO, command="no-such-program", share=True)
    async with host(team, tmp_path, missing) as here, here.agent("alice") as alice:
        assert "there is no command no-such-program" in await connected(alice)


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_a_server_of_the_present_protocol_is_shared_likewise(
    team: Team, tmp_path: Path, over: str
) -> None:
    async with AsyncExitStack() as stack:
        server = Server(name="modern", transport=Transport.STDIO, command=sys.executable, args=(str(MODERN),))
        if over == "http":
            port = await stack.enter_async_context(listening(MODERN))
            url = f"http://127.0.0.1:{port}/mcp"
            server = Server(name="modern", transport=Transport.HTTP, url=url)
        here = await stack.enter_async_context(host(team, tmp_path, replace(server, share=True)))
        agents = [await stack.enter_async_context(here.agent(name)) for name in ("a", "b")]
        for one in agents:
            assert "protocol 2026-07-28" in await connected(one, "modern")
            assert '"result": 5' in await one.says("mcp__modern__add", a=2, b=3)
        assert "verify_business" in await agents[0].says("mcp__modern__grow")
        for one in agents:
            await until(lambda one=one: "mcp__modern__more" in one.names())  # type: ignore[misc]
        answered = [("a", "add"), ("a", "grow"), ("b", "add")]
        await until(lambda: sorted(here.calls("answered")) == answered)
