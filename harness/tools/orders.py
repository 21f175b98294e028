"""What the person or the lead tells an agent to do at once: done, and only then answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CancelScope

from coordination.orders import followed, orders
from coordination.protocols import Kind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from coordination.stores import Stores
    from harness.off_loop import OffLoop


async def follow_orders(
    stores: Stores,
    off_loop: OffLoop,
    *,
    stop: Callable[[str], None],
    interrupt: Callable[[], None],
    compact: Callable[[str], Awaitable[None]],
) -> None:
    """Each is called as the orders want it: `stop` with the reason, `compact` with its focus, to be kept."""
    for order in await off_loop(orders, stores):
        with CancelScope(shield=True):  # what is done is answered
            match order.kind:
                case Kind.SHUTDOWN:
                    stop(f"{order.asker} asked it to stop")
                case Kind.INTERRUPT:
                    interrupt()
                case Kind.COMPACT:
                    await compact(order.question)
            await off_loop(followed, stores, order)
