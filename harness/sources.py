"""Several boxes as one: mail, the ends of background commands, what fired, and where a turn came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.lowlevel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from harness.loop import Inbox, Incoming


class Sources:
    """Satisfies `harness.loop.Inbox`; the boxes are asked in their order."""

    def __init__(
        self, *boxes: Inbox, until_on: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
    ) -> None:
        """`until_on` returns once the agent may go on: a paused one takes nothing and calls no model."""
        self._boxes = boxes
        self._until_on = until_on

    async def take(self) -> list[Incoming]:
        """What is new in any of them. Raises what they raise."""
        await self._until_on()
        return [item for box in self._boxes for item in await box.take()]

    async def settle(self) -> None:
        """What was taken is durable. Raises what they raise."""
        for box in self._boxes:
            await box.settle()

    async def answered(self) -> None:
        """The model has replied to what was taken. Raises what they raise."""
        for box in self._boxes:
            await box.answered()

    async def put_back(self) -> list[str]:
        """What no model replied to comes again later; the texts to withdraw from the conversation."""
        return [text for box in self._boxes for text in await box.put_back()]
