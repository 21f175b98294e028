"""Signals that end a process: heeded from the first moment of its work to the last of its clean-up."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ignore_stop_signals() -> None:
    """From here on none of them ends the process; a receiver that is opened later hears them all the same.

    To be called from the main thread.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


async def until_stopped(work: Callable[[], Awaitable[None]], heed: Callable[[signal.Signals], None]) -> None:
    """Do the work; `heed` is told of each signal, also while a cancelled work still cleans up.

    Raises what the work raises, in a group. Afterwards the signals are ignored.
    """

    async def listen() -> None:
        async for number in signals:
            heed(signal.Signals(number))

    try:
        with anyio.open_signal_receiver(*STOPPING) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await work()
                group.cancel_scope.cancel()
    finally:
        ignore_stop_signals()  # the receiver gave them back to their defaults
