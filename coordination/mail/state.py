"""What became of mail that was sent, as its sender may ask: from the boxes and the recipients' journals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.leadership import Leadership
from coordination.mail.bearers import LEAD, Bearers
from coordination.mail.lines import (
    UNDELIVERABLE,
    Delivery,
    is_person,
    known_as,
    parse,
    sender_name,
    take_lines,
)
from coordination.mail.positions import Positions, account_of
from coordination.records import MemberState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coordination.mail.lines import Line
    from coordination.records import Member, Message
    from coordination.roster import Roster
    from coordination.team_root import Team

_END = ".jsonl"


class MailState(StrEnum):
    """What became of a message."""

    WRITTEN = "written"  # durable in the box of a recipient that will read it
    DELIVERED = "delivered"  # in the recipient's conversation
    ANSWERED = "answered"  # the recipient wrote back, naming it
    SUPERSEDED = "superseded"  # the bearer it was addressed to left without taking it


@dataclass(frozen=True, kw_only=True)
class SentMail:
    """A message with what became of it."""

    message: Message
    state: MailState


def sent_by(team: Team, roster: Roster, name: str) -> list[SentMail]:
    """What the processes of a name sent (`lead`, `alice`, `person`), by recipient, each message once.

    Reads whole boxes: for people who ask, never on the way of a message.
    """
    answered = {reply.in_reply_to for _, _, reply in _messages(team, name)}
    boxes = [box.removesuffix(".d") for box in team.directory.names(layout.MAILBOXES) if box.endswith(".d")]
    found: dict[tuple[str, str], SentMail] = {}
    for to in sorted(boxes):
        readings = _Readings(team, roster, to)
        for source, line, message in _messages(team, to, of=name):
            state = readings.state(source, line, message)
            if state is MailState.DELIVERED and message.id in answered:
                state = MailState.ANSWERED
            found.setdefault((to, message.id), SentMail(message=message, state=state))
    return list(found.values())


def on_its_way(team: Team, roster: Roster, name: str) -> list[Message]:
    """What lies in the box of a name and is in no conversation of it yet, by sender. Reads the whole box."""
    readings = _Readings(team, roster, name)
    return [
        message
        for source, line, message in _messages(team, name)
        if readings.state(source, line, message) is MailState.WRITTEN
    ]


def left_over(team: Team, roster: Roster, gone: Member) -> list[Delivery]:
    """What a bearer that is gone did not take, from members, and what is not back with its senders."""
    bearers = Bearers(team, roster)
    behind = [
        Delivery(source=source, offset=line.offset, end=line.end, message=message, proven=True)
        for source, line, message in _messages(team, gone.name, since=gone.positions)
        if message.to_start == gone.start and bearers.is_on_record(source)
    ]
    taken = bearers.mail_taken(gone.name) if behind else set()
    left = [delivery for delivery in behind if known_as(delivery.message) not in taken]
    senders = {sender_name(delivery.source) for delivery in left}
    back = {
        (sender, identity)
        for sender in senders
        for _, _, message in _messages(team, sender)
        if message.type == UNDELIVERABLE
        for identity in message.metadata.get("ids", ())
    }
    return [delivery for delivery in left if known_as(delivery.message) not in back]


def _messages(
    team: Team, to: str, *, of: str | None = None, since: Mapping[str, int] | None = None
) -> Iterator[tuple[str, Line, Message]]:
    for file in sorted(team.directory.names(layout.inbox(to))):
        source = file.removesuffix(_END)
        if source == file or (of and sender_name(source) != of):
            continue
        begin = (since or {}).get(source, 0)
        data = team.directory.read_patiently(layout.sent(to, source))[begin:]
        for line in take_lines(data, begin, by_hand=is_person(source))[0]:
            try:
                yield source, line, parse(line, source=source, to=to, start=None)
            except InvalidRecord:
                continue  # reported by its reader


class _Readings:
    """How far each bearer of a name has read."""

    def __init__(self, team: Team, roster: Roster, to: str) -> None:
        self._team = team
        self._to = to
        self._bearers = Bearers(team, roster)
        self._roster = roster
        self._of_start: dict[int, tuple[Positions, bool]] = {}
        self._taken: set[tuple[str, str]] | None = None  # sender's name and id, once somebody asked

    def state(self, source: str, line: Line, message: Message) -> MailState:
        if message.to_start not in self._of_start:
            self._of_start[message.to_start] = self._read(message.to_start)
        positions, is_over = self._of_start[message.to_start]
        if positions.at(source) >= line.end or positions.knows(message):
            return MailState.DELIVERED
        if not is_over:
            return MailState.WRITTEN
        if self._taken is None:
            self._taken = self._bearers.mail_taken(self._to)
        return MailState.DELIVERED if known_as(message) in self._taken else MailState.SUPERSEDED

    def _read(self, start: int) -> tuple[Positions, bool]:
        directory = self._team.directory
        if self._to == LEAD:
            newest = Leadership(self._team).newest()
            terms = range(newest[0] if newest else 0, 0, -1)
            return account_of(directory, (layout.bearer(LEAD, term) for term in terms)).positions, False
        history = self._roster.history(self._to)
        start = start or (history[-1].start if history else 0) or 0  # a line by hand names none
        states = [member for member in history if member.start == start]
        if not states or states[-1].state is MemberState.WITHDRAWN:
            return Positions(), True
        if states[-1].state is MemberState.CLOSED:
            return Positions(states[-1].positions), True
        return account_of(directory, self._roster.bearers(states[-1]), states[-1].positions).positions, False
