"""The conversation of one process on disk, written before it is acted on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec

from coordination.append_file import AppendFile
from coordination.clock import Clock, iso
from coordination.errors import StateUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from coordination.files import StateDirectory

Line = dict[str, Any]
SHORTEST_SECRET = 6  # replacing shorter ones would tear ordinary text


class Journal:
    """The file of lines that this process alone writes; each line has a number `n` from 1."""

    def __init__(
        self, directory: StateDirectory, path: str, clock: Clock, *, secrets: Sequence[str] = ()
    ) -> None:
        self._file = AppendFile(directory, path)
        self._clock = clock
        self._secrets = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        self._number = 0
        self._one_writer = threading.Lock()

    @property
    def lines(self) -> int:
        """How many were written."""
        return self._number

    def append(self, kind: str, **fields: Any) -> Line:  # noqa: ANN401 - raw JSON
        """The line, durable. Raises StateUnwritable."""
        return self.append_all([(kind, fields)])[0]

    def append_all(self, entries: Sequence[tuple[str, dict[str, Any]]]) -> list[Line]:
        """The lines, durable, for the price of one. Raises StateUnwritable."""
        with self._one_writer:
            at = iso(self._clock.now())
            lines = [
                _encoded({"n": self._number + index, "at": at, "kind": kind, **fields})
                for index, (kind, fields) in enumerate(entries, start=1)
            ]
            self._write(b"\n".join(self._without_secrets(line, data) for line, data in lines))
            self._number += len(lines)
            return [line for line, _ in lines]

    def close(self) -> None:
        self._file.close()

    def _write(self, block: bytes) -> None:
        try:
            self._file.append(block)
        except StateUnwritable:  # it may be there or not: the same numbers again, and readers take the first
            self._file.append(block)

    def _without_secrets(self, line: Line, data: bytes) -> bytes:
        if not any(msgspec.json.encode(secret)[1:-1] in data for secret in self._secrets):
            return data
        return msgspec.json.encode(_with_texts(line, self._redacted))

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        return text


def read(directory: StateDirectory, path: str, *, until: int | None = None) -> Iterator[Line]:
    """The lines in order, each number once; torn and foreign lines are passed over.

    What stands behind byte `until` does not count.
    """
    newest = 0
    if not directory.exists(path):
        return
    for raw in directory.read_patiently(path)[:until].split(b"\n"):
        line = _decode(raw)
        if line is not None and line["n"] > newest:
            newest = line["n"]
            yield line


def _encoded(line: Line) -> tuple[Line, bytes]:
    try:
        return line, msgspec.json.encode(line)
    except UnicodeEncodeError:
        line = _with_texts(line, _scrub)
        return line, msgspec.json.encode(line)


def _decode(raw: bytes) -> Line | None:
    if not raw.strip():
        return None
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(line, dict) or not isinstance(line.get("n"), int) or "kind" not in line:
        return None
    return line


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - raw JSON
    """The value with every text in it changed; keys are only made fit for a file."""
    match value:
        case str():
            return change(value)
        case dict():
            return {_scrub(key): _with_texts(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return [_with_texts(inner, change) for inner in value]
        case _:
            return value


def _scrub(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
