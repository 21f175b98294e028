"""A model behind the Messages API; loads the SDK when it is first called."""

from __future__ import annotations

import gc
import importlib
from typing import TYPE_CHECKING

from anyio import to_thread

from harness.models.model import CredentialsMissing

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.models.anthropic_call import Connection
    from harness.models.endpoint import Endpoint
    from harness.models.model import Capacity, ModelRequest, Reply

SILENCE_SECONDS = 90.0


async def load_sdk() -> None:
    """The SDK is loaded, which takes seconds, beside whatever else the process does meanwhile."""
    await to_thread.run_sync(_import_sdk, abandon_on_cancel=True)


def _import_sdk() -> None:
    """Nothing is collected meanwhile, and what is there afterwards never: it is much, and it stays."""
    gc.disable()
    try:
        importlib.import_module("harness.models.anthropic_call")
        gc.freeze()
    finally:
        gc.enable()


class AnthropicModel:
    """A Model on a server; one per process, made after any fork."""

    def __init__(self, endpoint: Endpoint, *, silence_seconds: float = SILENCE_SECONDS) -> None:
        """`silence_seconds` is the longest gap between two pieces of a reply. Raises CredentialsMissing."""
        if not (endpoint.api_key or endpoint.auth_token):
            raise CredentialsMissing
        self._endpoint = endpoint
        self._silence_seconds = silence_seconds
        self._connection: Connection | None = None

    async def warm_up(self) -> None:
        """The SDK is loaded, which takes seconds, without holding up the event loop."""
        await load_sdk()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`. One attempt; a reply without its last events raises ImproperEnd."""
        return await (await self._connected()).reply(request, on_text)

    async def count(self, request: ModelRequest) -> int | None:
        """As `Model.count`."""
        return await (await self._connected()).count(request)

    async def capacity(self, model: str) -> Capacity:
        """As `Model.capacity`."""
        return await (await self._connected()).capacity(model)

    async def offered(self) -> list[str]:
        """Names of the models that the server lists. Raises NoReply."""
        return await (await self._connected()).offered()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connected(self) -> Connection:
        if self._connection is None:
            await self.warm_up()
            from harness.models.anthropic_call import Connection  # noqa: PLC0415 - only who calls a model pays for it

            self._connection = Connection(self._endpoint, silence_seconds=self._silence_seconds)
        return self._connection
