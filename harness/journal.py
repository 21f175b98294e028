"""The conversation of one process on disk, written before it is acted on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec

from coordination.append_file import AppendFile
from coordination.clock import Clock, iso
from coordination.errors import StateUnwritable
from coordination.json_form import json_object, scrubbed
from coordination.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from coordination.files import StateDirectory

Line = dict[str, Any]


class Journal:
    """The file of lines that this process alone writes; each line has a number `n` from 1."""

    def __init__(
        self,
        directory: StateDirectory,
        path: str,
        clock: Clock,
        *,
        secrets: Sequence[str] = (),
        seal: Callable[[Line], Line] = lambda _: {},
    ) -> None:
        """`seal` says what has to stand in a line beside the rest, once that is as it will be on disk."""
        self._file = AppendFile(directory, path)
        self._clock = clock
        self._redactor = Redactor(secrets)
        self._seal = seal
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
                self._finished({"n": self._number + index, "at": at, "kind": kind, **fields})
                for index, (kind, fields) in enumerate(entries, start=1)
            ]
            self._write(b"\n".join(data for _, data in lines))
            self._number += len(lines)
            return [line for line, _ in lines]

    def close(self) -> None:
        self._file.close()

    def _write(self, block: bytes) -> None:
        try:
            self._file.append(block)
        except StateUnwritable:  # it may be there or not: the same numbers again, and readers take the first
            self._file.append(block)

    def _finished(self, line: Line) -> tuple[Line, bytes]:
        """The line for the conversation, and as it is on disk: without secrets, and sealed."""
        line, data = _encoded(line)
        if self._redactor.finds_in(data):
            written = self._redactor.without(line)
            return line, msgspec.json.encode(written | self._seal(written))
        seal = self._seal(line)
        return line, msgspec.json.encode(line | seal) if seal else data


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
        line = scrubbed(line)
        return line, msgspec.json.encode(line)


def _decode(raw: bytes) -> Line | None:
    line = json_object(raw)
    return line if line and isinstance(line.get("n"), int) and "kind" in line else None
