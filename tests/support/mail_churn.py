"""A name that is borne, closed, killed, buried and borne again while others send it mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.mail.bearers import RecipientGone, UnknownRecipient
from coordination.mail.lines import UNDELIVERABLE, Delivery
from coordination.mail.mailbox import Inbox
from coordination.mail.outbox import DeliveryInDoubt, Outbox
from coordination.mail.positions import DELIVERY_KIND
from coordination.records import MemberState
from coordination.roster import NameTaken, Roster
from coordination.team_root import open_team
from harness.journal import Journal, read
from tests.support.mail import bearer_of
from tests.support.mail_journal import JournaledReceiver

if TYPE_CHECKING:
    from coordination.team_root import Team

NAME = "bob"
READINGS = 4  # of one bearer before it leaves


def bear_and_leave(root: str) -> None:
    """Become the member, take mail a few times, close as a teammate does, and again, for ever."""
    team = open_team(Path(root))
    roster = Roster(team, NAME)
    while True:
        try:
            spawn_id = roster.start(NAME).spawn_id
        except NameTaken:
            team.clock.sleep(0.01)  # a dead bearer waits to be buried
            continue
        member = roster.come_alive(NAME, spawn_id)
        receiver = JournaledReceiver(team, NAME)
        for _ in range(READINGS):
            receiver.receive()
            team.clock.sleep(0.004)
        incarnation = member.incarnation or 0
        roster.closing(NAME, incarnation)
        left = Inbox(team, NAME, incarnation, roster, receiver.positions).read_all()
        roster.closed(NAME, incarnation, receiver.positions.ends)
        Outbox(team, layout.bearer(NAME, incarnation), roster).send_back(left, to=NAME)


def send_and_note(root: str, name: str, count: int) -> None:
    """Send numbered messages, and note what the outbox says of each."""
    team = open_team(Path(root))
    roster = Roster(team, name)
    bearer = layout.bearer(*bearer_of(team, name))
    outbox, notes = Outbox(team, bearer, roster), Journal(team.directory, layout.journal(bearer), team.clock)
    for number in range(count):
        outcome = "sent"
        try:
            outbox.send(NAME, str(number), message_id=f"{name}_{number}")
        except (RecipientGone, UnknownRecipient):
            outcome = "bounced"
        except DeliveryInDoubt:
            outcome = "doubt"
        notes.append("outcome", id=f"{name}_{number}", outcome=outcome)
        team.clock.sleep(0.002)


def outcomes(team: Team, name: str) -> dict[str, str]:
    """What a sender believes."""
    lines = read(team.directory, layout.journal(layout.bearer(*bearer_of(team, name))))
    return {line["id"]: line["outcome"] for line in lines if line["kind"] == "outcome"}


def counted(team: Team) -> list[str]:
    """The ids that bearers of the name took, as their closed records count them."""
    roster = Roster(team, NAME)
    found: list[str] = []
    for closed in roster.history(NAME):
        if closed.state is MemberState.CLOSED:
            for bearer in roster.bearers(closed):
                taken = _deliveries(team, bearer)
                found += [
                    delivery.message.id
                    for delivery in taken
                    if delivery.end <= closed.positions.get(delivery.source, 0)
                ]
    return found


def sent_back(team: Team, name: str) -> list[str]:
    """The ids that came back to a sender."""
    receiver = JournaledReceiver(team, name)
    back = [message for message in receiver.receive() if message.type == UNDELIVERABLE]
    return [identity for message in back for identity in message.metadata["ids"]]


def _deliveries(team: Team, bearer: str) -> list[Delivery]:
    lines: list[dict[str, Any]] = list(read(team.directory, layout.journal(bearer)))
    return [Delivery.from_json(line) for line in lines if line["kind"] == DELIVERY_KIND]
