"""A model whose use is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.models.model import Capacity, Model, ModelRequest, Reply


class MeteredModel:
    """Passes every call on and adds up what the replies used."""

    def __init__(self, model: Model) -> None:
        self.total = Usage()
        self._model = model

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """The reply of the model behind; its usage is in `total`."""
        reply = await self._model.reply(request, on_text)
        self.total += reply.usage
        return reply

    async def count(self, request: ModelRequest) -> int | None:
        """As the model behind counts."""
        return await self._model.count(request)

    async def capacity(self, model: str) -> Capacity:
        """As the model behind says."""
        return await self._model.capacity(model)

    async def close(self) -> None:
        """The model behind is closed."""
        await self._model.close()
