"""The shell tool, and the one way in which a tool starts a process."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE, STDOUT  # noqa: TID251 - this module starts the processes of tools
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from anyio import to_thread

from coordination.child import end_group, in_shell, on_a_leash
from coordination.clock import SystemClock
from harness.permissions.shell.effects import may_send
from harness.tool import (
    Effect,
    NoWorkingDirectory,
    Refusal,
    Tool,
    ToolContext,
    ToolFailure,
    closed,
    objection,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.abc import Process

    from harness.tool import Arguments

CHUNK_BYTES = 65536
GRACE_SECONDS = 0.2  # between TERM and KILL
LIFE_SECONDS = 1.0  # between signs of life
DRAIN_SECONDS = 1.0  # a child that left the group may hold the pipe open


@dataclass(frozen=True, kw_only=True)
class ShellLimits:
    """How long a command may run, and how much of its output is kept."""

    timeout_seconds: int
    max_timeout_seconds: int
    kept_bytes: int


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What came of a process."""

    status: int | None  # None: it ran out of time and was killed
    output: str


class BoundedOutput:
    """The first and the last bytes of a stream; what lies between is only counted."""

    def __init__(self, kept_bytes: int) -> None:
        self._half = max(kept_bytes // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:  # cut seldom: each cut copies
            self._cut()

    def text(self) -> str:
        """All that was kept; bytes that are no UTF-8 are shown as replacement characters."""
        self._cut()
        parts = [bytes(self._head), bytes(self._tail)]
        if self._dropped:
            parts.insert(1, f"\n… {self._dropped} bytes left out …\n".encode())
        return b"".join(parts).decode("utf-8", "replace")

    def _cut(self) -> None:
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


async def run_process(
    command: str | Sequence[str],
    context: ToolContext,
    *,
    timeout_seconds: float,
    kept_bytes: int,
    opening: str = "",
) -> Finished:
    """Run in a process group of its own with stdin closed; afterwards the group is gone.

    A string goes to the shell, confined as the context says; a list is a program of ours and runs
    as it is. `opening` is shell of ours that runs first, outside of any confinement, and may open files
    for the command. Output and errors come in one stream, in the order of writing.
    Raises NoWorkingDirectory, OSError, and what `Confine` does. Cancellation kills the group too.
    """
    cwd, environment = context.cwd(), dict(context.environment())
    if not await anyio.Path(cwd).is_dir():
        raise NoWorkingDirectory(why=f"{cwd} is gone")
    argv = list(command)
    if isinstance(command, str):
        confined = await to_thread.run_sync(context.confine, in_shell(command), cwd)
        argv = on_a_leash([*in_shell(f'{opening}\nexec "$@"'), "sh", *confined] if opening else confined)
    kept = BoundedOutput(kept_bytes)
    with anyio.CancelScope(shield=True):  # cancelled half way, a start would leave its process behind
        process = await anyio.open_process(
            argv, stdin=PIPE, stderr=STDOUT, cwd=cwd, env=environment, start_new_session=True
        )
    try:
        with context.groups.holding(process.pid):
            status = await _follow(process, kept, timeout_seconds, context.progress)
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return Finished(status=status, output=kept.text())


async def _follow(
    process: Process, kept: BoundedOutput, timeout_seconds: float, progress: Callable[[], None]
) -> int | None:
    """The exit status, or None when the time ran out; `kept` has the output up to then."""
    async with anyio.create_task_group() as group:
        group.start_soon(_show_life, progress)
        async with anyio.create_task_group() as reading:
            reading.start_soon(_read, process, kept)
            try:
                with anyio.move_on_after(timeout_seconds):
                    await process.wait()
                status = process.returncode
            finally:  # before the rest is read: a child left behind holds the pipe open
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(_end_group, process.pid)
            reading.cancel_scope.deadline = anyio.current_time() + DRAIN_SECONDS
        group.cancel_scope.cancel()
    return status


async def _show_life(progress: Callable[[], None]) -> None:
    while True:  # a wait with a deadline is progress, however silent the command
        progress()
        await anyio.sleep(LIFE_SECONDS)


async def _read(process: Process, kept: BoundedOutput) -> None:
    if process.stdout is None:
        return
    with suppress(anyio.EndOfStream):
        while True:
            kept.add(await process.stdout.receive(CHUNK_BYTES))


def _end_group(group: int) -> None:
    end_group(group, SystemClock(), patience_seconds=GRACE_SECONDS)


class Starter(Protocol):
    """Where a command goes that is not waited for."""

    async def __call__(self, command: str, context: ToolContext, timeout_seconds: float | None) -> str:
        """It runs; the text is what the model gets at once."""
        ...


def bash_tool(limits: ShellLimits, start_in_background: Starter | None = None) -> Tool:
    """The tool `bash`: one command in the working directory, in the background only where that is offered."""

    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        if may_send(arguments["command"]):  # before it runs: what it fetches may outlive this process
            await context.distrust(f"the output of {arguments['command'][:80]!r}")
        if start_in_background and arguments.get("run_in_background") is True:
            return await start_in_background(arguments["command"], context, arguments.get("timeout"))
        return await _bash(arguments, context, limits)

    return Tool(
        name="bash",
        description=(
            "Run a shell command in the working directory and return its output (stdout and stderr "
            "together). Input is closed, so commands cannot ask questions. Everything the command "
            "started is ended when it returns. A command that runs longer than the time limit is "
            "killed; its output so far is returned."
        ),
        input_schema=closed(
            _fields(limits, offers_background=start_in_background is not None), required=["command"]
        ),
        run=run,
        effect=Effect.CHANGE,
        runs_commands=True,
        semantic=_can_be_passed,
    )


def _can_be_passed(arguments: Arguments) -> Refusal | None:
    if found := re.search(r"[\0\ud800-\udfff]", arguments["command"]):
        return objection("not_text", f"no command holds the character at {found.start()}; leave it out")
    return None


def _fields(limits: ShellLimits, *, offers_background: bool) -> dict[str, Any]:
    timeout = {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.max_timeout_seconds,
        "description": f"Time limit in seconds; {limits.timeout_seconds} when not given.",
    }
    background = {
        "type": "boolean",
        "description": "true: get a placeholder at once, and be told of the end later",
    }
    command = {"type": "string", "minLength": 1, "description": "The command line."}
    fields: dict[str, Any] = {"command": command, "timeout": timeout}
    return fields | {"run_in_background": background} if offers_background else fields


async def _bash(arguments: dict[str, Any], context: ToolContext, limits: ShellLimits) -> str:
    seconds = arguments.get("timeout", limits.timeout_seconds)
    finished = await run_process(
        arguments["command"], context, timeout_seconds=seconds, kept_bytes=limits.kept_bytes
    )
    output = finished.output.strip("\n")
    if finished.status is None:
        raise ToolFailure("timeout", f"the command was killed after {seconds} s; output so far:\n{output}")
    if finished.status != 0:
        raise ToolFailure("exit_status", f"the command ended with status {finished.status}\n{output}")
    return output
