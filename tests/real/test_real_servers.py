"""Servers that other people wrote, as `make test-real` installs them: over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from harness.mcp.config import Server, Transport
from harness.mcp.connection import State
from orchestrator.cli.main import main
from tests.support.mcp import Agent, agent, until
from tests.support.repository import Repository
from tests.support.sharing import host
from tests.support.trust import trusts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from coordination.team_root import Team

pytestmark = pytest.mark.anyio
PLACE = Path(os.environ.get("LEADHAND_REAL_SERVERS", ".real")).resolve()
NPM, PYPI = PLACE / "node_modules" / ".bin", PLACE / "venv" / "bin"
needs_npm = pytest.mark.skipif(not NPM.exists(), reason="there is no npm here")


def stdio(name: str, command: Path, *args: str) -> Server:
    return Server(name=name, transport=Transport.STDIO, command=str(command), args=args)


def all_four(root: Path) -> list[Server]:
    return [
        stdio("everything", NPM / "mcp-server-everything"),
        stdio("files", NPM / "mcp-server-filesystem", str(root)),
        stdio("git", PYPI / "mcp-server-git"),
        stdio("time", PYPI / "mcp-server-time"),
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def listening(kind: str) -> AsyncIterator[tuple[int, anyio.abc.Process]]:
    """The everything server over HTTP, once it answers."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    command = [str(NPM / "mcp-server-everything"), kind]
    async with await anyio.open_process(command, env=environment, stdout=None, stderr=None) as process:
        with anyio.fail_after(20):
            while True:
                try:
                    stream = await anyio.connect_tcp("127.0.0.1", port)
                except OSError:
                    await anyio.sleep(0.1)
                else:
                    await stream.aclose()
                    break
        yield port, process
        if process.returncode is None:
            process.kill()


async def connected(to: Agent, name: str) -> str:
    said = await to.says("connect_mcp", name=name)
    assert said.startswith(f"Connected to MCP server {name}"), said
    return said


@needs_npm
async def test_the_four_connect_and_do_what_they_are_for(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository", {"a.py": "A = 1\n"})
    async with agent(tmp_path, *all_four(repository.path), connect_seconds=60) as all_of_them:
        for name, protocol in [
            ("everything", "2025-"),
            ("files", "2025-"),
            ("git", "2026-"),
            ("time", "2026-"),
        ]:
            assert f"protocol {protocol}" in await connected(all_of_them, name)
        calls: list[tuple[str, dict[str, Any], str]] = [
            ("mcp__everything__get-sum", {"a": 20, "b": 22}, "42"),
            ("mcp__files__read_text_file", {"path": str(repository.path / "a.py")}, "A = 1"),
            ("mcp__git__git_log", {"repo_path": str(repository.path)}, "Pat Person"),
            ("mcp__time__get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin"),
        ]
        for name, arguments, expected in calls:
            said = await all_of_them.says(name, **arguments)
            assert said.startswith("[verify_business]"), said
            assert expected in said
        refused = await all_of_them.says("mcp__files__read_text_file", path="/etc/hostname")
        assert refused.startswith("[run/tool_error]")
        assert (await all_of_them.says("mcp__time__get_current_time")).startswith("[schema/missing_field]")


@needs_npm
async def test_images_links_and_structured_content_of_everything(tmp_path: Path) -> None:
    async with agent(tmp_path, all_four(tmp_path)[0], connect_seconds=60) as one:
        await connected(one, "everything")
        image = await one.calls("mcp__everything__get-tiny-image")
        assert [block["type"] for block in image["content"]][-1] == "image"
        assert "[link to" in await one.says("mcp__everything__get-resource-links", count=2)
        said = await one.says("mcp__everything__get-structured-content", location="New York")
        assert "temperature" in said
        await one.calls("mcp__everything__trigger-long-running-operation", duration=2, steps=2)
        assert "mcp_progress" in [event["action"] for event in one.trail.events]


@needs_npm
@pytest.mark.parametrize(
    ("kind", "transport", "path"),
    [("streamableHttp", Transport.HTTP, "mcp"), ("sse", Transport.SSE, "sse")],
)
async def test_everything_over_http_and_what_its_end_means(
    tmp_path: Path, kind: str, transport: Transport, path: str
) -> None:
    async with listening(kind) as (port, process):
        server = Server(name="far", transport=transport, url=f"http://127.0.0.1:{port}/{path}")
        async with agent(tmp_path, server, connect_seconds=60) as one:
            await connected(one, "far")
            assert "42" in await one.says("mcp__far__get-sum", a=20, b=22)
            async with anyio.create_task_group() as group:
                ended: list[str] = []

                async def hang() -> None:
                    ended.append(
                        await one.says("mcp__far__trigger-long-running-operation", duration=30, steps=3)
                    )

                group.start_soon(hang)
                await anyio.sleep(0.5)
                process.kill()
                await until(lambda: ended, seconds=15)
            assert "[unknown/" in ended[0]
            connection = one.servers.connection("far")
            assert connection
            await until(lambda: connection.state is not State.READY, seconds=15)


@needs_npm
def test_check_tells_of_all_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = {of.name: {"command": of.command, "args": list(of.args)} for of in all_four(tmp_path)}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    trusts(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "check", "--json"])
    assert ended.value.code == 0
    rows = json.loads(capsys.readouterr().out)["servers"]
    assert {row["name"]: row["health"] for row in rows} == dict.fromkeys(servers, "ready")
    assert all(row["tools"] and row["protocol"] and row["server"] for row in rows)


async def test_those_of_pypi_alone(tmp_path: Path) -> None:
    async with agent(tmp_path, *all_four(tmp_path)[2:], connect_seconds=60) as two:
        for name in ("git", "time"):
            assert "protocol 2026-" in await connected(two, name)


@needs_npm
@pytest.mark.parametrize(
    ("kind", "transport", "path"),
    [("", Transport.STDIO, ""), ("streamableHttp", Transport.HTTP, "mcp"), ("sse", Transport.SSE, "sse")],
)
async def test_two_agents_share_everything(
    team: Team, tmp_path: Path, kind: str, transport: Transport, path: str
) -> None:
    async with AsyncExitStack() as stack:
        server = stdio("far", NPM / "mcp-server-everything")
        if kind:
            port, _ = await stack.enter_async_context(listening(kind))
            server = Server(name="far", transport=transport, url=f"http://127.0.0.1:{port}/{path}")
        here = await stack.enter_async_context(host(team, tmp_path, replace(server, share=True)))
        for name in ("alice", "bob"):
            one = await stack.enter_async_context(here.agent(name))
            await connected(one, "far")
            assert "42" in await one.says("mcp__far__get-sum", a=20, b=22)
            slow = await one.says("mcp__far__trigger-long-running-operation", duration=1, steps=2)
            assert "verify_business" in slow
            assert "mcp_progress" in [event["action"] for event in one.trail.events]
        await until(lambda: len(here.calls("answered")) == 4)
        assert {who for who, _ in here.calls("answered")} == {"alice", "bob"}


async def test_two_agents_share_servers_of_the_present_protocol(team: Team, tmp_path: Path) -> None:
    servers = [replace(of, share=True) for of in all_four(tmp_path)[2:]]
    async with (
        host(team, tmp_path, *servers) as here,
        here.agent("alice") as alice,
        here.agent("bob") as bob,
    ):
        for one in (alice, bob):
            for name in ("git", "time"):
                assert "protocol 2026-" in await connected(one, name)
            told = await one.says("mcp__time__get_current_time", timezone="Europe/Vienna")
            assert "verify_business" in told
        await until(lambda: sorted(who for who, _ in here.calls("answered")) == ["alice", "bob"])


def test_they_do_not_run_in_our_environment() -> None:
    assert Path(sys.prefix) not in (PYPI / "python").absolute().parents
