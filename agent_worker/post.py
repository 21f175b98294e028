"""A teammate's mail and journal: taken up where the last process of its name stopped, and closed in order."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import TeamError
from coordination.mail.mailbox import Inbox
from coordination.mail.positions import Account, account_of
from harness.context.resume import left_behind
from harness.tools.mail import TeamInbox, mail_journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.mail.positions import Positions
    from coordination.records import Member, Message
    from coordination.stores import Stores
    from harness.context.conversation import Conversation
    from harness.off_loop import OffLoop
    from harness.settings.settings import Settings


class Post:
    """What one teammate process receives and writes down."""

    def __init__(self, stores: Stores, member: Member, settings: Settings) -> None:
        """The journal begins with how far the mail of the name was taken."""
        assert member.incarnation is not None
        self._stores = stores
        self._member = member
        self._incarnation = member.incarnation
        account = self._read_so_far()
        self._positions = account.positions
        self._follows = account.journal, account.offset
        self.journal = mail_journal(stores.team, stores.actor, account, secrets=settings.secrets())

    def inbox(self, off_loop: OffLoop, heard: Callable[[Message], None]) -> TeamInbox:
        """The box that the agent takes its mail from; `heard` is told of each message that it got."""
        return TeamInbox(self._box(self._positions), off_loop, self.journal, heard=heard)

    def left_behind(self) -> Conversation:
        """What the process that this one goes on for had come to with its model."""
        journal, offset = self._follows
        return left_behind(self._stores.team.directory, journal, offset, path_of=layout.journal)

    def tell_lead(self, why: str) -> None:
        """The lead has mail of the type `error`, where this process can still send any."""
        with suppress(TeamError):
            self._stores.outbox.send("lead", f"{self._member.name} has ended: {why}", type="error")

    def close(self, why: str) -> None:
        """The name is closed, and mail that came too late is back with its senders."""
        name, roster = self._member.name, self._stores.roster
        roster.closing(name, self._incarnation, why)
        team = self._stores.team
        team.clock.sleep(team.mount.settling_seconds)  # what was sent before is to be seen by then
        positions = self._read_so_far().positions  # the journal is what was delivered
        left = self._box(positions).read_all()
        roster.closed(name, self._incarnation, positions.ends, why)
        self._stores.outbox.send_back(left, to=name)

    def _read_so_far(self) -> Account:
        """How far this process, or else the last one of the name, took its mail."""
        bearers = self._stores.roster.bearers(self._member)
        return account_of(self._stores.team.directory, bearers, self._member.positions)

    def _box(self, positions: Positions) -> Inbox:
        stores = self._stores
        return Inbox(stores.team, self._member.name, self._incarnation, stores.roster, positions)
