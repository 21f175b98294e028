"""JSON objects over a socket that was inherited, each perhaps with the end of another socket."""

from __future__ import annotations

import json
import socket
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import anyio

from harness.mcp.lines import as_line

if TYPE_CHECKING:
    from types import TracebackType

RECEIVED_BYTES = 65536  # at once
DESCRIPTORS = 16  # likewise; a letter has one at most
ENCLOSED = "enclosed"  # in a letter: a socket comes with it


class Letters:
    """One end; whoever sends takes turns with nobody, nor does whoever receives.

    Both raise GONE once the other end is closed.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._unread = bytearray()
        self._enclosed: deque[int] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Both directions are closed, and what came and nobody took."""
        self._socket.close()
        while self._enclosed:
            socket.close(self._enclosed.popleft())

    async def send(self, letter: dict[str, Any], enclosed: socket.socket | None = None) -> None:
        """The letter is on its way, and with it a copy of the socket."""
        unsent = as_line(letter | ({ENCLOSED: True} if enclosed else {}))
        descriptors = [enclosed.fileno()] if enclosed else []
        while unsent:
            try:
                sent = socket.send_fds(self._socket, [unsent], descriptors)
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            else:
                unsent, descriptors = unsent[sent:], []

    async def receive(self) -> tuple[dict[str, Any], socket.socket | None]:
        """The next letter, and the socket that came with it."""
        while b"\n" not in self._unread:
            await anyio.wait_readable(self._socket)
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, RECEIVED_BYTES, DESCRIPTORS)
            except BlockingIOError:
                continue
            if not data:
                raise anyio.EndOfStream
            self._unread += data
            self._enclosed += descriptors
        line, _, self._unread = self._unread.partition(b"\n")
        letter: dict[str, Any] = json.loads(line)
        is_enclosed = letter.pop(ENCLOSED, False)
        return letter, socket.socket(fileno=self._enclosed.popleft()) if is_enclosed else None
