"""Several boxes as one: mail, the ends of background commands, what else may arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.loop import Inbox, Incoming


class Sources:
    """Satisfies `harness.loop.Inbox`; the boxes are asked in their order."""

    def __init__(self, *boxes: Inbox) -> None:
        self._boxes = boxes

    async def take(self) -> list[Incoming]:
        """What is new in any of them. Raises what they raise."""
        return [item for box in self._boxes for item in await box.take()]

    async def settle(self) -> None:
        """What was taken is durable. Raises what they raise."""
        for box in self._boxes:
            await box.settle()
