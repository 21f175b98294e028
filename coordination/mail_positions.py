"""How far a receiver has read each sender, and what it knows: the fold of its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.mail_lines import Delivery, sender_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from coordination.files import StateDirectory
    from coordination.records import Message

KNOWN_IDS = 256  # per name of a sender, over all its incarnations
CHECKPOINT_LINES = 1000
DELIVERY_KIND = "mail"  # of the journal line that is a delivery
CHECKPOINT_KIND = "checkpoint"  # of the journal line that carries `positions`


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    ends: dict[str, int] = {}
    ids: dict[str, list[str]] = {}


class Positions:
    """The end of the last delivered line of each source, and the ids delivered last per sender.

    Only what is durable in the journal may be taken; then a restart finds exactly this again.
    """

    def __init__(self, ends: Mapping[str, int] | None = None) -> None:
        """Positions of a new bearer: those that its predecessor's `closed` record carries, if any."""
        self._ends = dict(ends or {})
        self._ids: dict[str, dict[str, None]] = {}

    @property
    def ends(self) -> dict[str, int]:
        """Sources and ends, as a `closed` record carries them."""
        return dict(self._ends)

    def at(self, source: str) -> int:
        return self._ends.get(source, 0)

    def knows(self, message: Message) -> bool:
        """True when its sender's name delivered that id among the last `KNOWN_IDS`."""
        return message.id in self._ids.get(sender_name(message.sender), {})

    def take(self, delivery: Delivery) -> None:
        """The delivery is behind these positions; taking it twice changes nothing."""
        self._ends.update(delivery.passed)
        self._ends[delivery.source] = delivery.end
        ids = self._ids.setdefault(sender_name(delivery.message.sender), {})
        ids[delivery.message.id] = None
        while len(ids) > KNOWN_IDS:
            del ids[next(iter(ids))]

    def checkpoint_due(self, lines: int) -> bool:
        """True when a journal that grew by `lines` since its last checkpoint needs the next one."""
        return lines >= max(CHECKPOINT_LINES, 10 * len(self._ends))

    def to_json(self) -> dict[str, Any]:
        return {"ends": dict(self._ends), "ids": {name: list(ids) for name, ids in self._ids.items()}}

    @classmethod
    def from_json(cls, raw: object) -> Self:
        """The positions of a checkpoint. Raises InvalidRecord."""
        try:
            saved = msgspec.convert(raw, _Saved)
        except msgspec.ValidationError as error:
            raise InvalidRecord(why=f"no positions ({error})") from error
        positions = cls(saved.ends)
        positions._ids = {name: dict.fromkeys(ids) for name, ids in saved.ids.items()}
        return positions

    @classmethod
    def fold(cls, journal: Iterable[dict[str, Any]]) -> Self:
        """The positions that the lines of a journal add up to, lines of other kinds among them.

        Raises InvalidRecord when a delivery or a checkpoint is damaged: going on would double mail.
        """
        positions = cls()
        for line in journal:
            if line.get("kind") == CHECKPOINT_KIND and "positions" in line:
                positions = cls.from_json(line["positions"])
            elif line.get("kind") == DELIVERY_KIND and "source" in line:
                positions.take(Delivery.from_json(line))
        return positions


def positions_of(directory: StateDirectory, bearer: str) -> Positions:
    """What the journal of a process, `alice~7`, adds up to; nothing without one.

    Lines torn by a crash are passed over. Raises InvalidRecord, StateUnreadable.
    """
    path = layout.journal(bearer)
    data = directory.read_patiently(path) if directory.exists(path) else b""
    return Positions.fold(line for raw in data.split(b"\n") if (line := _decode(raw)))


def _decode(raw: bytes) -> dict[str, Any] | None:
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return line if isinstance(line, dict) else None
