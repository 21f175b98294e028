"""A model whose use is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.usage import Usage
from harness.models.model import Around

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.models.model import Model, ModelRequest, Reply


class MeteredModel(Around):
    """Passes every call on and adds up what the replies used."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.total = Usage()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """The reply of the model behind; its usage is in `total`."""
        reply = await super().reply(request, on_text)
        self.total += reply.usage
        return reply
