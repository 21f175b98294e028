"""A server as a child process that speaks over its standard input and output, and leaves nothing behind."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import psutil

from coordination.child import Confine, end_group, unconfined
from coordination.clock import SystemClock
from coordination.errors import TeamError
from harness.mcp.lines import GONE, Lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import Process
    from mcp.client._transport import TransportStreams

    from harness.mcp.wire import Wire

EXIT_SECONDS = 2.0  # that a server may take to end once its input is closed
KILL_SECONDS = 1.0  # between TERM and KILL after that
LOOK_SECONDS = 0.25  # how late the end of a server is noticed whose children keep its output open
MARK = "LEADHAND_MCP_SERVER"  # in the environment of a server and of all that it starts

# A child of the shell waits for the end of our pipe, which comes with our end however we die, and takes
# the whole group along. The pipe is opened by its name, since a shell may know one digit only.
_LEASH = """\
(exec /bin/sh -c 'read -r line; kill -9 0' leash <"$0") >/dev/null 2>&1 &
exec "$@"
"""


@dataclass(eq=False)
class CommandMissing(TeamError):
    """The program of a server is not installed."""

    command: str
    says = "there is no command {command}; install it, or mend the path"


@dataclass(frozen=True, kw_only=True)
class ServerProcess:
    """What is started."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    confine: Confine = unconfined


@asynccontextmanager
async def stdio(server: ServerProcess, wire: Wire, log: int) -> AsyncIterator[TransportStreams]:
    """The streams to a running server; afterwards no process of it runs, grandchildren included.

    `log` is a descriptor for what it says beside the protocol. Raises CommandMissing, OSError, and what
    `Confine` does.
    """
    leash, held = os.pipe()
    mark = secrets.token_hex(8)
    try:
        process = await _start(server, leash, mark, log)
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(leash)
    assert process.stdout
    assert process.stdin
    lines = Lines(process.stdout, process.stdin, wire, log)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(lines.read)
            group.start_soon(lines.write)
            group.start_soon(_watch, process, lines)
            try:
                yield lines.incoming, lines.outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process, mark)
                group.cancel_scope.cancel()
    finally:
        lines.close()
        os.close(held)


async def _start(server: ServerProcess, leash: int, mark: str, log: int) -> Process:
    command = await anyio.to_thread.run_sync(server.confine, [program_of(server), *server.args], server.cwd)
    return await anyio.open_process(
        ["/bin/sh", "-c", _LEASH, f"/dev/fd/{leash}", *command],
        env={**server.env, MARK: mark},
        cwd=server.cwd,
        stderr=log,
        start_new_session=True,
        pass_fds=(leash,),
    )


def program_of(server: ServerProcess) -> str:
    """The program by its path. Raises CommandMissing."""
    in_place = server.cwd / server.command
    if "/" in server.command and in_place.exists():
        return str(in_place)
    found = shutil.which(server.command, path=server.env.get("PATH"))
    if found is None:
        raise CommandMissing(command=server.command)
    return found


async def _watch(process: Process, lines: Lines) -> None:
    """The end of the process is the end of the stream, even if a child of it holds its output open."""
    while process.returncode is None:  # noqa: ASYNC110 - asyncio's own wait waits for the pipes too
        await anyio.sleep(LOOK_SECONDS)
    await anyio.sleep(LOOK_SECONDS)  # what it said last is still read
    await lines.end()


async def _end(process: Process, mark: str) -> None:
    """Nothing of the process is left: input closed, patience, then its group and all that bear its mark."""
    with suppress(*GONE):
        assert process.stdin
        await process.stdin.aclose()
    with anyio.move_on_after(EXIT_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110 - likewise
            await anyio.sleep(0.02)
    await anyio.to_thread.run_sync(
        lambda: end_group(process.pid, SystemClock(), patience_seconds=KILL_SECONDS)
    )
    await anyio.to_thread.run_sync(_kill_marked, mark)
    with anyio.move_on_after(EXIT_SECONDS):
        await process.aclose()


def _kill_marked(mark: str) -> None:
    """What left the group of the server, or outlived it, still has the environment it was started with."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                process.kill()
