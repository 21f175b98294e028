"""Who may send mail and who still takes it: looks at the roster and at the terms of leadership."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import TeamError
from coordination.leadership import Leadership
from coordination.mail.lines import is_person, known_as
from coordination.mail.positions import deliveries
from coordination.protocols import TermOver
from coordination.records import MemberState
from coordination.roster import GONE

if TYPE_CHECKING:
    from coordination.records import Message
    from coordination.roster import Roster
    from coordination.team_root import Team

LEAD = "lead"
_DRAINING = {MemberState.CLOSING, MemberState.SUPERSEDED}  # a last look at the mail is under way


class Fate(StrEnum):
    """What became of the bearer that a message was addressed to."""

    TAKES = "takes"  # it reads, or will once it is up
    CLOSING = "closing"  # its last drain is under way
    OVER = "over"


@dataclass(eq=False)
class _Unreachable(TeamError):
    to: str
    known: tuple[str, ...]  # who can be reached

    def __str__(self) -> str:
        return self.says.format(to=self.to, known=", ".join(self.known))


@dataclass(eq=False)
class UnknownRecipient(_Unreachable):
    """Nobody of that name was ever on the team."""

    says = "there is no {to} on this team; send to one of: {known}"


@dataclass(eq=False)
class RecipientGone(_Unreachable):
    """The recipient left the team; the message was not delivered."""

    says = "{to} has left the team and did not get the message; send to one of: {known}"


class Bearers:
    """The bearers of names, asked anew each time but for what can never change."""

    def __init__(self, team: Team, roster: Roster) -> None:
        self._team = team
        self._roster = roster
        self._leadership = Leadership(team)
        self._on_record: set[str] = set()

    def check(self, name: str, incarnation: int) -> int:
        """The number of the `starting` record of that process, which no other has followed.

        Raises Superseded, TermOver.
        """
        if name != LEAD:
            return self._roster.check_newest(name, incarnation).start or 0
        if self.term() > incarnation:
            raise TermOver(term=incarnation, present=self.term())
        return 0

    def start_of(self, to: str) -> int:
        """The number of the `starting` record of the bearer that mail to this name reaches; 0 for the lead.

        Raises UnknownRecipient and RecipientGone.
        """
        if to == LEAD:
            return 0
        member = self._roster.member(to)
        if member is None:
            raise UnknownRecipient(to=to, known=self.reachable())
        if member.state in GONE:
            raise RecipientGone(to=to, known=self.reachable())
        return member.start or 0

    def reachable(self) -> tuple[str, ...]:
        """The lead and every member that mail can reach, by name."""
        return (LEAD, *(member.name for member in self._roster.all() if member.state not in GONE))

    def fate(self, to: str, start: int) -> Fate:
        """What became of the bearer of `to` whose `starting` record is `start`."""
        if to == LEAD:
            return Fate.TAKES
        member = self._roster.member(to)
        if member is None or (member.start or 0) != start or member.state in GONE:
            return Fate.OVER
        return Fate.CLOSING if member.state in _DRAINING else Fate.TAKES

    def has_taken(self, message: Message) -> bool:
        """True when a closed bearer counted this message as delivered, under whichever place it was written.

        Asked for a message that may have been sent before; reads whole journals.
        """
        return known_as(message) in self.mail_taken(message.to, of=message.id)

    def mail_taken(self, to: str, *, of: str | None = None) -> set[tuple[str, str]]:
        """Name of the sender and id of all that closed bearers counted as delivered, or of that id alone.

        Reads whole journals, each once.
        """
        history = self._roster.history(to)
        ends = {member.start: member.positions for member in history if member.state is MemberState.CLOSED}
        bearers = {
            layout.bearer(to, member.incarnation): ends[member.start]
            for member in history
            if member.incarnation and member.start in ends
        }
        return {
            known_as(delivery.message)
            for bearer, positions in bearers.items()
            for delivery in deliveries(self._team.directory, bearer, of=of)
            if delivery.end <= positions.get(delivery.source, 0)
        }

    def taken(self, to: str, start: int, source: str) -> int:
        """How much of a source that bearer had taken when it closed; 0 when it never closed."""
        closed = (member for member in self._roster.history(to) if member.state is MemberState.CLOSED)
        return next((member.positions.get(source, 0) for member in closed if member.start == start), 0)

    def is_on_record(self, source: str) -> bool:
        """True when the roster or the terms of leadership made that process; never for a person's file."""
        if source not in self._on_record and self._ever_bore(source):
            self._on_record.add(source)
        return source in self._on_record

    def is_newest(self, source: str) -> bool:
        """True while the process on record has no successor and has not closed."""
        bearer = layout.split_bearer(source)
        if bearer and bearer[0] == LEAD:
            return bearer[1] == self.term()
        return self._roster.is_present(source)

    def term(self) -> int:
        """The newest term of leadership; 0 before the first."""
        newest = self._leadership.newest()
        return newest[0] if newest else 0

    def _ever_bore(self, source: str) -> bool:
        bearer = layout.split_bearer(source)
        if bearer is None or is_person(source):
            return False
        name, number = bearer
        if name == LEAD:
            return 0 < number <= self.term()
        return any((member.name, member.incarnation) == bearer for member in self._roster.history(name))
