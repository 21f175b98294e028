"""A receiver whose deliveries lie in the journal of its process, where everybody else looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from coordination.mail.mailbox import Inbox
from coordination.mail.positions import CHECKPOINT_KIND, DELIVERY_KIND, account_of
from coordination.roster import Roster
from harness.journal import Journal
from tests.support.mail import bearer_of

if TYPE_CHECKING:
    from coordination.records import Message
    from coordination.team_root import Team


class JournaledReceiver:
    """The newest process of a name, as it begins: from what its predecessors took."""

    def __init__(self, team: Team, name: str) -> None:
        roster = Roster(team, name)
        member = roster.member(name)
        assert member
        account = account_of(team.directory, roster.bearers(member), member.positions)
        self.positions = account.positions
        path = layout.journal(layout.bearer(*bearer_of(team, name)))
        self.journal = Journal(team.directory, path, team.clock)
        self.journal.append(CHECKPOINT_KIND, **account.checkpoint())
        self.inbox = Inbox(team, *bearer_of(team, name), roster, self.positions)

    def receive(self) -> list[Message]:
        """Everything new is delivered."""
        deliveries = self.inbox.read_new()
        for delivery in deliveries:
            self.journal.append(DELIVERY_KIND, **delivery.to_json())
            self.positions.take(delivery)
        return [delivery.message for delivery in deliveries]
