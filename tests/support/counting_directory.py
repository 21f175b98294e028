"""A state directory that counts what it is asked for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from coordination.files import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class CountingDirectory(StateDirectory):
    """Counts calls by name, and the bytes that were read of files."""

    calls: Counter[str]
    bytes_read: int

    def reset(self) -> None:
        self.calls = Counter()
        self.bytes_read = 0

    def read(self, name: str) -> bytes:
        data = super().read(name)
        self.calls["read"] += 1
        self.bytes_read += len(data)
        return data

    def read_from(self, name: str, offset: int, limit: int) -> tuple[bytes, int]:
        data, size = super().read_from(name, offset, limit)
        self.calls["read_from"] += 1
        self.bytes_read += len(data)
        return data, size

    def patiently(self, look: Callable[[], T], name: str) -> T:
        self.calls["patiently"] += 1
        return super().patiently(look, name)
