"""A mailbox with its receiver and its journal, as a role puts them together."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from coordination import layout
from coordination.mail.lines import Delivery
from coordination.mail.mailbox import Inbox
from coordination.mail.outbox import Outbox
from coordination.mail.positions import DELIVERY_KIND, Positions
from coordination.roster import Roster

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from coordination.records import Member, Message
    from coordination.team_root import Team


def join(team: Team, name: str) -> Member:
    """The name is a living member, this process its bearer."""
    roster = Roster(team, "lead~1")
    return roster.come_alive(name, roster.start(name).spawn_id)


def leave(team: Team, name: str, positions: dict[str, int] | None = None) -> None:
    """The bearer of the name has closed, with these positions."""
    roster = Roster(team, "lead~1")
    incarnation = bearer_of(team, name)[1]
    roster.closing(name, incarnation)
    roster.closed(name, incarnation, positions or {})


def bearer_of(team: Team, name: str) -> tuple[str, int]:
    member = Roster(team, "lead~1").member(name)
    assert member is not None
    assert member.incarnation is not None
    return name, member.incarnation


def outbox(team: Team, name: str) -> Outbox:
    """What the newest incarnation of the name sends with."""
    return Outbox(team, layout.bearer(*bearer_of(team, name)), Roster(team, "lead~1"))


def box(team: Team, name: str, source: str) -> Path:
    """The file of a sender in a box, its directory made."""
    path = team.root / layout.sent(name, source)
    path.parent.mkdir(exist_ok=True)
    return path


def write(team: Team, name: str, source: str, data: bytes) -> None:
    """Plain bytes at the end of a sender's file."""
    with box(team, name, source).open("ab") as file:
        file.write(data)


class Receiver:
    """One process that takes mail: it knows what its journal says, and nothing else."""

    def __init__(self, team: Team, name: str) -> None:
        self.inbox = Inbox(
            team, *bearer_of(team, name), Roster(team, "lead~1"), Positions.fold(journaled(team, name))
        )
        self._journal = team.root / layout.journal(name)

    def take(self, deliveries: Iterable[Delivery]) -> None:
        """Each delivery is durable in the journal, then behind the positions."""
        for delivery in deliveries:
            self.write({"kind": DELIVERY_KIND, **delivery.to_json()})
            self.inbox.positions.take(delivery)

    def write(self, line: dict[str, object]) -> None:
        """The line is durable in the journal."""
        with self._journal.open("ab") as journal:
            journal.write(json.dumps(line).encode() + b"\n")
            journal.flush()
            os.fsync(journal.fileno())

    def receive(self) -> list[Message]:
        """Everything that is new, taken."""
        messages: list[Message] = []
        while (deliveries := self.inbox.read_new()) or self.inbox.is_behind:
            self.take(deliveries)
            messages += [delivery.message for delivery in deliveries]
        return messages

    def texts(self) -> list[str]:
        return [message.content for message in self.receive()]


def journaled(team: Team, name: str) -> list[dict[str, object]]:
    """The whole lines of the journal."""
    path = team.root / layout.journal(name)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def delivered(team: Team, name: str) -> list[Message]:
    """What the journal says was delivered, in its order."""
    return [
        Delivery.from_json(line).message for line in journaled(team, name) if line["kind"] == DELIVERY_KIND
    ]
