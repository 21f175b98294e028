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

    What the process starts heeds them as any program does. To be called from the main thread.
    """
    for number in STOPPING:
        signal.signal(number, lambda *_: None)  # SIG_IGN would be inherited


def ignore_stop_signals_through_exec() -> None:
    """None of them ends the process, nor the program that it becomes, until that program listens."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


async def until_stopped(work: Callable[[], Awaitable[None]], heed: Callable[[signal.Signals], None]) -> None:
    """Do the work; `heed` is told of each signal, also while a cancelled work still cleans up.

    A hang-up that the starter had ignored stays ignored, as `nohup` wants it. Raises what the work
    raises, in a group. Afterwards the signals are ignored.
    """
    survives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    heeded = [number for number in STOPPING if not (survives and number is signal.SIGHUP)]

    async def listen() -> None:
        async for number in signals:
            heed(signal.Signals(number))

    try:
        with anyio.open_signal_receiver(*heeded) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await work()
                group.cancel_scope.cancel()
    finally:
        ignore_stop_signals()  # the receiver gave them back to their defaults
