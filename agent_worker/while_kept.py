"""Work that blocks and has deadlines of its own, such as checks, while the lease is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

from coordination.errors import TeamError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from agent_worker.lease_keeper import LeaseKeeper

R = TypeVar("R")


async def while_kept(keeper: LeaseKeeper, work: Awaitable[R]) -> R:
    """What the work comes to: waiting for it is progress. It raises errors as they are, not as a group."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep, keeper)
            done = await work
            group.cancel_scope.cancel()
    except* TeamError as errors:
        raise errors.exceptions[0] from None
    return done


async def _keep(keeper: LeaseKeeper) -> None:
    while True:
        keeper.checkpoint()
        await anyio.sleep(keeper.interval)
