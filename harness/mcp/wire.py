"""What goes over the wire between host and server, beside what the SDK makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio

from harness.mcp.outcome import Kind, classify

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from mcp.client._transport import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

CALL_MARK = (
    "io.leadhand/call"  # in `_meta` of a call: the id of the model's tool call, the same if sent again
)
_AT_FAULT = {Kind.PROTOCOL_MISMATCH, Kind.MALFORMED}


@dataclass
class Exchange:
    """One call on its way: the id it was sent under, and the raw response."""

    sent_id: int | str | None = None  # None until it was sent
    raw: Any = None
    is_at_fault: anyio.Event = field(default_factory=anyio.Event)  # the SDK cannot make sense of the response


class Wire:
    """Watches one connection; belongs to its event loop."""

    def __init__(self) -> None:
        self._exchanges: dict[str, Exchange] = {}
        self._sent: set[int | str] = set()  # ids of all requests ever sent
        self._listings: dict[object, object] = {}  # ids of requests for tools, and the page they asked for
        self.pages: dict[object, Any] = {}  # by page, the newest raw response
        self.is_relayed = False  # responses come through a transport that makes some up itself
        self.home: Path | None = None  # where the process was started that this connection has for itself
        self.ended = anyio.Event()  # nothing comes any more

    def open(self, call_id: str) -> Exchange:
        """The call is about to be sent with this mark."""
        self._exchanges[call_id] = Exchange()
        return self._exchanges[call_id]

    def close(self, call_id: str) -> None:
        self._exchanges.pop(call_id, None)

    def sent(self, message: dict[str, Any]) -> None:
        """What goes to the server."""
        if "id" not in message or "method" not in message:
            return
        self._sent.add(message["id"])
        if message["method"] == "tools/list":
            self._listings[message["id"]] = (message.get("params") or {}).get("cursor")
        mark = ((message.get("params") or {}).get("_meta") or {}).get(CALL_MARK)
        if exchange := self._exchanges.get(mark or ""):
            exchange.sent_id, exchange.raw = message["id"], None

    def received(self, message: Any) -> bool:  # noqa: ANN401 - raw JSON
        """What came from the server; False if the SDK should not see it."""
        if isinstance(message, dict) and "method" in message:
            return True
        identity = message.get("id") if isinstance(message, dict) else None
        if isinstance(identity, int | str) and identity in self._listings:
            self.pages[self._listings.pop(identity)] = message
        exchange = self._asked(message)
        if exchange is None:
            return True
        exchange.raw = message
        if classify(message, sent_id=exchange.sent_id or 0).kind in _AT_FAULT:
            exchange.is_at_fault.set()
            return False
        return True

    def _asked(self, response: Any) -> Exchange | None:  # noqa: ANN401 - raw JSON
        """The call that it answers; what answers no request of ours, the only call."""
        waiting = [of for of in self._exchanges.values() if of.sent_id is not None and of.raw is None]
        identity = response.get("id") if isinstance(response, dict) else None
        if isinstance(identity, int | str) and not isinstance(identity, bool) and identity in self._sent:
            return next((of for of in waiting if of.sent_id == identity), None)
        return waiting[0] if len(waiting) == 1 else None


class TappedReads:
    """A stream of the SDK of which the wire sees everything first."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], wire: Wire) -> None:
        self._stream = stream
        self._wire = wire
        wire.is_relayed = True

    async def receive(self) -> SessionMessage | Exception:
        """The next that the SDK should see."""
        while True:
            try:
                item = await self._stream.receive()
            except anyio.EndOfStream:
                self._wire.ended.set()
                raise
            if isinstance(item, Exception) or self._wire.received(as_raw(item)):
                return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()


class TappedWrites:
    """Likewise for what is sent."""

    def __init__(self, stream: WriteStream[SessionMessage], wire: Wire) -> None:
        self._stream = stream
        self._wire = wire

    async def send(self, item: SessionMessage, /) -> None:
        """The wire has seen it, and it is on its way."""
        self._wire.sent(as_raw(item))
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()


def as_raw(item: SessionMessage) -> dict[str, Any]:
    """The message as it is on the wire."""
    raw: dict[str, Any] = item.message.model_dump(by_alias=True, exclude_unset=True, mode="json")
    return raw
