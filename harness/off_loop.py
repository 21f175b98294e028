"""Blocking work away from the event loop, one piece at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


class OffLoop:
    """Guards objects that belong to one thread: calls run in a worker thread, never two at once."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()

    async def __call__(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What `work` returns or raises; a cancelled caller waits for it to end."""
        async with self._lock:
            return await anyio.to_thread.run_sync(partial(work, *args, **kwargs))
