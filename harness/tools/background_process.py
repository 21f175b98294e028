"""One background command as a process group: start it into its output file, follow it, end it."""

from __future__ import annotations

import os
import signal
from subprocess import PIPE, STDOUT  # noqa: TID251 - this module starts the background commands of tools
from typing import TYPE_CHECKING, Self

import anyio
from anyio import to_thread

from coordination.background import HowEnded
from coordination.child import end_group, in_shell, on_a_leash
from coordination.clock import SystemClock
from harness.tool import NoWorkingDirectory

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import Process

    from harness.tool import ToolContext

GRACE_SECONDS = 1.0  # between TERM and KILL
LOOK_SECONDS = 1.0  # between looks at the size of an output


class BackgroundProcess:
    """A running command and its group."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, command: str, context: ToolContext, output: int) -> Self:
        """It runs with its input closed and writes to the descriptor. Raises as `run_process`."""
        cwd, environment = context.cwd(), dict(context.environment())
        try:
            if not await anyio.Path(cwd).is_dir():
                raise NoWorkingDirectory(why=f"{cwd} is gone")
            confined = await to_thread.run_sync(context.confine, in_shell(command), cwd)
            process = await anyio.open_process(
                on_a_leash(confined),
                stdin=PIPE,
                stdout=output,
                stderr=STDOUT,
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )
        finally:
            os.close(output)
        return cls(process)

    @property
    def pid(self) -> int:
        """Also the number of its process group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Once it has ended by itself."""
        status = self._process.returncode
        return status if status is not None and status >= 0 else None

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it."""
        status = self._process.returncode
        return signal.Signals(-status).name if status is not None and status < 0 else None

    async def until_over(self, *, seconds: float, is_too_long: Callable[[], bool]) -> HowEnded:
        """Wait for its end, or for the end of a limit; `is_too_long` looks at its output, in a thread."""
        too_long = False
        with anyio.move_on_after(seconds) as limit:
            async with anyio.create_task_group() as group:

                async def watch_output() -> None:
                    nonlocal too_long
                    while not too_long:
                        await anyio.sleep(LOOK_SECONDS)
                        too_long = await to_thread.run_sync(is_too_long)
                    group.cancel_scope.cancel()

                group.start_soon(watch_output)
                await self._process.wait()
                group.cancel_scope.cancel()
        if too_long:
            return HowEnded.TOO_LONG
        if limit.cancelled_caught:
            return HowEnded.TIMED_OUT
        return HowEnded.COMPLETED if self._process.returncode == 0 else HowEnded.FAILED

    async def end(self) -> None:
        """Nothing of its group runs."""
        await to_thread.run_sync(lambda: end_group(self.pid, SystemClock(), patience_seconds=GRACE_SECONDS))
        await self._process.wait()
        await self._process.aclose()
