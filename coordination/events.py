"""The audit trail: one file of JSON lines per process, and a reader over all of them."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Protocol

from coordination import layout
from coordination.append_file import AppendFile
from coordination.clock import Clock, iso
from coordination.errors import NotRegularFile
from coordination.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from coordination.files import StateDirectory

_CHUNK = 1 << 20


class EventLog:
    """What one process did, in its own file; any of its threads may write."""

    def __init__(self, directory: StateDirectory, clock: Clock, who: str) -> None:
        self._clock = clock
        self._who = who
        self._one_writer = threading.Lock()
        self._file = AppendFile(directory, layout.events(who), durable=False)
        self._redactor = Redactor()

    def hide(self, secrets: Sequence[str]) -> None:
        """None of these values is in any event from now on."""
        self._redactor = Redactor(secrets)

    def record(self, action: str, /, **fields: object) -> None:
        """One line more says when, who and what; not synced. Raises StateUnwritable."""
        event = {"at": iso(self._clock.now()), "who": self._who, "action": action, **fields}
        line = _encoded(event)
        if self._redactor.finds_in(line):
            line = _encoded(self._redactor.without(json.loads(line)))
        with self._one_writer:
            self._file.append(line)

    def close(self) -> None:
        """Give the descriptor back; a later event opens the file again."""
        self._file.close()


class Recorder(Protocol):
    """Writes lines of the audit trail."""

    def record(self, action: str, /, **fields: object) -> None:
        """As `EventLog.record`."""
        ...


def _encoded(event: Mapping[str, object]) -> bytes:
    line = json.dumps(event, ensure_ascii=False, separators=(",", ":"), default=str)
    return line.encode("utf-8", "replace")  # model text may hold lone surrogates


class EventsAbout:
    """The audit trail of one agent; its lines also say which work they belong to."""

    def __init__(self, log: Recorder, work: Callable[[], Mapping[str, str | None]]) -> None:
        self._log = log
        self.work = work

    def record(self, action: str, /, **fields: object) -> None:
        """As `EventLog.record`."""
        self._log.record(action, **(dict(self.work()) | fields))


class EventTail:
    """Reads each event of each process once."""

    def __init__(self, directory: StateDirectory) -> None:
        self.bad_lines = 0  # torn or foreign, passed over
        self._directory = directory
        self._offsets: dict[str, int] = {}

    def read_new(self) -> list[dict[str, Any]]:
        """The events since the last call, by the time their writers gave them; whole lines only.

        What cannot be read now is left for the next call.
        """
        events = []
        for name in sorted(self._directory.names(layout.EVENTS)):
            if name.endswith(".jsonl"):
                events += self._read_file(f"{layout.EVENTS}/{name}")
        return sorted(events, key=lambda event: str(event.get("at", "")))

    def _read_file(self, path: str) -> list[dict[str, Any]]:
        try:
            whole = self._whole_lines(path)
        except (OSError, NotRegularFile):
            return []
        decoded = [self._decode(line) for line in whole.splitlines() if line.strip()]
        return [event for event in decoded if event is not None]

    def _whole_lines(self, path: str) -> bytes:
        offset = self._offsets.get(path, 0)
        data, size = self._directory.read_from(path, offset, _CHUNK)
        if size < offset:  # cut or replaced by hand: begin again
            offset = 0
            data, size = self._directory.read_from(path, offset, _CHUNK)
        while offset + len(data) < size:
            more, size = self._directory.read_from(path, offset + len(data), _CHUNK)
            if not more:
                break
            data += more
        whole = data[: data.rfind(b"\n") + 1]
        self._offsets[path] = offset + len(whole)
        return whole

    def _decode(self, line: bytes) -> dict[str, Any] | None:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict):
            return event
        self.bad_lines += 1
        return None
