"""How far a receiver has read each sender, and what it knows: the fold of its journal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.json_form import json_object
from coordination.mail.lines import Delivery, sender_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from coordination.files import StateDirectory
    from coordination.records import Message

KNOWN_IDS = 256  # per name of a sender, over all its incarnations
CHECKPOINT_LINES = 1000
DELIVERY_KIND = "mail"  # of the journal line that is a delivery
_TAIL_BYTES = 1 << 18  # of a journal; mostly the last checkpoint is among them
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


@dataclass(frozen=True, kw_only=True)
class Account:
    """How far the processes that bore a name had read, and which journal says so."""

    positions: Positions
    journal: str | None = None  # `alice~7`; None where nobody has read yet
    offset: int = 0  # what that process writes behind it is void

    def checkpoint(self) -> dict[str, Any]:
        """The fields of the first line in the journal of the next process."""
        follows = {"follows": self.journal, "offset": self.offset} if self.journal else {}
        return {**follows, "positions": self.positions.to_json()}


def account_of(
    directory: StateDirectory, bearers: Iterable[str], before: Mapping[str, int] | None = None
) -> Account:
    """What the first of these processes, newest first, wrote that has a journal which begins.

    `before` are the positions before all of them. A journal without its first line, cut off by a
    crash, says nothing. The cost does not grow with what was ever delivered. Raises InvalidRecord,
    StateUnreadable.
    """
    found = (_account(directory, bearer) for bearer in bearers)
    return next((account for account in found if account), Account(positions=Positions(before)))


def positions_of(directory: StateDirectory, bearer: str) -> Positions:
    """What the journal of a process, `alice~7`, adds up to. Raises as `account_of`."""
    return account_of(directory, [bearer]).positions


def deliveries(directory: StateDirectory, bearer: str, *, of: str | None = None) -> list[Delivery]:
    """What the journal of a process says was delivered, or what with that id. Reads all of it."""
    path = layout.journal(bearer)
    data = directory.read_patiently(path) if directory.exists(path) else b""
    sought = (of or DELIVERY_KIND).encode()
    lines = [line for raw in data.split(b"\n") if sought in raw and (line := json_object(raw))]
    found = [Delivery.from_json(line) for line in lines if line.get("kind") == DELIVERY_KIND]
    return [delivery for delivery in found if of in {None, delivery.message.id}]


def _account(directory: StateDirectory, bearer: str) -> Account | None:
    path = layout.journal(bearer)
    span = _TAIL_BYTES
    while directory.exists(path):
        data, size = directory.patiently(partial(directory.read_from, path, -span, span), path)
        lines = _since_checkpoint(data.split(b"\n"), is_whole=len(data) == size)
        if lines:
            return Account(positions=Positions.fold(lines), journal=bearer, offset=size)
        if len(data) == size:
            break
        span *= 8
    return None


def _since_checkpoint(raws: list[bytes], *, is_whole: bool) -> list[dict[str, Any]]:
    """The lines that count, of the end of a journal; none where it has to be read from further up."""
    lines: list[dict[str, Any]] = []
    for raw in reversed(raws if is_whole else raws[1:]):
        line = json_object(raw) or {}
        if line.get("kind") in {CHECKPOINT_KIND, DELIVERY_KIND}:
            lines.append(line)
        if line.get("kind") == CHECKPOINT_KIND and "positions" in line:
            return lines[::-1]
    return lines[::-1] if is_whole else []
