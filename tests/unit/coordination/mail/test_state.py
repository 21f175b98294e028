from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.mail.outbox import person_outbox
from coordination.mail.state import MailState, sent_by
from coordination.roster import Roster
from tests.support.mail import bearer_of, join, leave, outbox, write
from tests.support.mail_journal import JournaledReceiver

if TYPE_CHECKING:
    from coordination.team_root import Team


def states(team: Team, name: str) -> dict[str, MailState]:
    return {mail.message.content: mail.state for mail in sent_by(team, Roster(team, "person"), name)}


def test_what_nobody_has_read_is_written(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    outbox(team, "bob").send("alice", "one")
    assert states(team, "bob") == {"one": MailState.WRITTEN}


def test_what_is_in_the_journal_of_its_recipient_is_delivered(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    sender = outbox(team, "bob")
    sender.send("alice", "one")
    JournaledReceiver(team, "alice").receive()
    sender.send("alice", "two")
    assert states(team, "bob") == {"one": MailState.DELIVERED, "two": MailState.WRITTEN}


def test_a_reply_that_names_it_answers(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    first = outbox(team, "bob").send("alice", "one")
    outbox(team, "bob").send("alice", "two")
    JournaledReceiver(team, "alice").receive()
    outbox(team, "alice").send("bob", "yes", in_reply_to=first.id)
    assert states(team, "bob") == {"one": MailState.ANSWERED, "two": MailState.DELIVERED}


def test_what_a_member_left_without_taking_is_superseded(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    outbox(team, "bob").send("alice", "one")
    leave(team, "alice")
    join(team, "alice")
    outbox(team, "bob").send("alice", "to the next")
    assert states(team, "bob") == {"one": MailState.SUPERSEDED, "to the next": MailState.WRITTEN}


def test_what_a_closed_member_took_stays_delivered(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    outbox(team, "bob").send("alice", "one")
    receiver = JournaledReceiver(team, "alice")
    receiver.receive()
    leave(team, "alice", receiver.positions.ends)
    assert states(team, "bob") == {"one": MailState.DELIVERED}


def test_a_message_sent_again_is_one(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    for _ in range(2):
        outbox(team, "bob").send("alice", "one", message_id="call_1")
        Roster(team, "lead~1").restart("bob")
    assert states(team, "bob") == {"one": MailState.WRITTEN}


def test_a_person_asks_for_all_calls_and_lines_by_hand(team: Team) -> None:
    join(team, "alice")
    person_outbox(team, Roster(team, "person")).send("alice", "by command")
    write(team, "alice", "person~desk", b'{"content": "by hand"}\n')
    assert states(team, "person") == {"by command": MailState.WRITTEN, "by hand": MailState.WRITTEN}
    JournaledReceiver(team, "alice").receive()
    assert set(states(team, "person").values()) == {MailState.DELIVERED}


def test_mail_to_the_lead_counts_over_all_terms(team: Team) -> None:
    join(team, "bob")
    outbox(team, "bob").send("lead", "one")
    assert states(team, "bob") == {"one": MailState.WRITTEN}


def test_garbage_in_a_box_is_passed_over(team: Team) -> None:
    join(team, "alice")
    join(team, "bob")
    outbox(team, "bob").send("alice", "one")
    name, incarnation = bearer_of(team, "bob")
    write(team, "alice", f"{name}~{incarnation}", b"\0\0\0\n[]\n{half")
    write(team, "alice", "README", b"no mail")
    assert states(team, "bob") == {"one": MailState.WRITTEN}
