"""Signals that end a process: heeded from the first moment of its work to the last of its clean-up."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ignore_stop_signals() -> None:
    """From here on none of them ends the process, nor what it starts or becomes, until that listens.

    To be called from the main thread.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def unless_ignored() -> list[signal.Signals]:
    """Those that end a process which a person started: not a hang-up under `nohup`."""
    survives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in STOPPING if not (survives and number is signal.SIGHUP)]


async def until_stopped(
    work: Callable[[], Awaitable[None]],
    heed: Callable[[signal.Signals], None],
    signals: Iterable[signal.Signals] = STOPPING,
) -> None:
    """Do the work; `heed` is told of each signal, also while a cancelled work still cleans up.

    Raises what the work raises, in a group. Afterwards all signals that end a process are ignored.
    """

    async def listen() -> None:
        async for number in received:
            heed(signal.Signals(number))

    try:
        with anyio.open_signal_receiver(*signals) as received:
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await work()
                group.cancel_scope.cancel()
    finally:
        ignore_stop_signals()  # the receiver gave them back to their defaults
