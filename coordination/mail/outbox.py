"""Sending mail: one line in the sender's own file, and certainty about who took it."""

from __future__ import annotations

import itertools
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.append_file import AppendFile
from coordination.clock import iso
from coordination.errors import StateUnwritable, TeamError
from coordination.identity import new_id
from coordination.json_form import scrub, scrubbed
from coordination.mail.bearers import LEAD, Bearers, Fate, RecipientGone, UnknownRecipient
from coordination.mail.lines import LINE_BYTES, UNDELIVERABLE, is_person
from coordination.process import this_process
from coordination.records import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coordination.mail.lines import Delivery
    from coordination.roster import Roster
    from coordination.team_root import Team

CLOSING_PATIENCE_SECONDS = 10.0
_QUOTED = 100_000  # characters of a text that is brought back
_PAUSES = (0.05, 0.1)  # seconds before an append that the disk refused or tore is tried again


@dataclass(eq=False)
class DeliveryInDoubt(TeamError):
    """The recipient was leaving and did not say in time whether it took the message."""

    to: str
    id: str
    says = "{to} is leaving and may or may not have got message {id}; send it again with the same id"


@dataclass(eq=False)
class MessageTooLong(TeamError):
    """The message does not fit on one line of a mailbox."""

    length: int
    limit: int
    says = "the message takes {length} bytes of {limit}; put the text in a file and send its path"


class Outbox:
    """The mail that one process sends. An object belongs to one thread."""

    def __init__(self, team: Team, who: str, roster: Roster) -> None:
        """`who` is the sending process, `alice~7`; it alone writes the files of that name."""
        self._team = team
        self._who = who
        self._bearer = layout.split_bearer(who)  # None for a person
        self._bearers = Bearers(team, roster)
        self._seq = itertools.count(1)
        self._files: dict[str, AppendFile] = {}

    def send(
        self,
        to: str,
        content: str,
        *,
        type: str = "message",  # noqa: A002 - the word of the record
        in_reply_to: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        message_id: str | None = None,
    ) -> Message:
        """The message is durable in the box of a recipient that reads it or has read it.

        A sender that does not know whether it sent gives the same `message_id` again. Raises
        UnknownRecipient, RecipientGone (the lead is then told, with the text), DeliveryInDoubt,
        MessageTooLong, StateUnwritable; Superseded or TermOver where another bears the sender's name.
        """
        if self._bearer and type != UNDELIVERABLE:  # who has closed still sends back what it left over
            self._bearers.check(*self._bearer)
        message = Message(
            id=message_id or new_id("msg"),
            seq=next(self._seq),
            type=type,
            sender=self._who,
            to=to,
            to_start=0,
            content=scrub(content),
            sent_at=iso(self._team.clock.now()),
            in_reply_to=in_reply_to,
            metadata=scrubbed(metadata) if metadata else {},
        )
        try:
            return self._deliver(message)
        except RecipientGone:
            if self._bearers.has_taken(message):  # it is sent again, after it was delivered
                return message
            self._tell_lead(message)
            raise

    def send_back(self, deliveries: Iterable[Delivery], *, to: str) -> list[Message]:
        """Each member that sent some of these, left over by `to`, got one `undeliverable` with the texts."""
        left: dict[str, list[Message]] = {}
        for delivery in deliveries:
            bearer = layout.split_bearer(delivery.source) if delivery.proven else None
            if bearer:
                left.setdefault(bearer[0], []).append(delivery.message)
        sent = (self._send_back(sender, messages, to) for sender, messages in left.items())
        return [message for message in sent if message]

    def close(self) -> None:
        """Give the descriptors back."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _deliver(self, message: Message) -> Message:
        start = self._bearers.start_of(message.to)
        message = msgspec.structs.replace(message, to_start=start)
        end = self._append(message)
        if self._is_over(message) and self._bearers.taken(message.to, start, self._who) < end:
            raise RecipientGone(to=message.to, known=self._bearers.reachable())
        return message

    def _is_over(self, message: Message) -> bool:
        """Whether the addressed bearer is closed, once that is settled. Raises DeliveryInDoubt."""
        clock, deadline = self._team.clock, None
        while (fate := self._bearers.fate(message.to, message.to_start)) is Fate.CLOSING:
            now = clock.monotonic()
            deadline = deadline or now + CLOSING_PATIENCE_SECONDS
            if now >= deadline:
                raise DeliveryInDoubt(to=message.to, id=message.id)
            clock.sleep(0.05)
        return fate is Fate.OVER

    def _append(self, message: Message) -> int:
        line = message.encode()
        if len(line) >= LINE_BYTES:
            raise MessageTooLong(length=len(line), limit=LINE_BYTES)
        for pause in _PAUSES:
            try:
                return self._file(message.to).append(line)
            except StateUnwritable:
                if file := self._files.pop(message.to, None):
                    file.close()  # the next try goes by path again
                self._team.clock.sleep(pause)
        return self._file(message.to).append(line)

    def _file(self, to: str) -> AppendFile:
        if to not in self._files:
            self._team.directory.make(layout.inbox(to))
            self._files[to] = AppendFile(self._team.directory, layout.sent(to, self._who))
        return self._files[to]

    def _tell_lead(self, message: Message) -> None:
        if is_person(self._who) or (self._bearer and self._bearer[0] == LEAD):
            return  # these see the error themselves
        why = f"{self._who} could not reach {message.to}, who has left the team. The message:"
        self.send(
            LEAD,
            f"{why}\n{message.content[:_QUOTED]}",
            type=UNDELIVERABLE,
            metadata={"to": message.to, "ids": [message.id]},
            message_id=f"{message.id}-{UNDELIVERABLE}",
        )

    def _send_back(self, sender: str, messages: list[Message], to: str) -> Message | None:
        texts = "\n".join(message.content for message in messages)
        try:
            return self.send(
                sender,
                f"{to} has left the team without taking this:\n{texts[:_QUOTED]}",
                type=UNDELIVERABLE,
                metadata={"to": to, "ids": [message.id for message in messages]},
                message_id=f"{messages[0].id}-{UNDELIVERABLE}",
            )
        except (UnknownRecipient, RecipientGone):
            return None  # nobody is left to be told


def person_outbox(team: Team, roster: Roster) -> Outbox:
    """An outbox of the person at this host, with a file of its own: one for each call of a command."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", this_process().host)[:64]
    return Outbox(team, f"person~{host}-{secrets.token_hex(6)}", roster)
