"""Who follows whom in reading mail, what that costs, and what a sender may believe of the gone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.mail.bearers import RecipientGone
from coordination.mail.positions import account_of
from coordination.mail.state import left_over, sent_by
from coordination.protocols import TermOver
from coordination.roster import Roster, Superseded
from tests.support.counting_directory import CountingDirectory
from tests.support.mail import join, leave, outbox
from tests.support.mail_journal import JournaledReceiver
from tests.support.people import leads

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team


@pytest.fixture
def bob(team: Team) -> JournaledReceiver:
    join(team, "alice")
    join(team, "bob")
    return JournaledReceiver(team, "bob")


def restarted(team: Team, name: str = "bob") -> JournaledReceiver:
    Roster(team, "lead~1").restart(name)
    return JournaledReceiver(team, name)


def texts(receiver: JournaledReceiver) -> list[str]:
    return [message.content for message in receiver.receive()]


def journal_of(team: Team, bearer: str) -> Path:
    return team.root / layout.journal(bearer)


def test_a_successor_goes_on_where_its_predecessor_was(team: Team, bob: JournaledReceiver) -> None:
    sender = outbox(team, "alice")
    sender.send("bob", "one")
    assert texts(bob) == ["one"]
    sender.send("bob", "two")
    assert texts(restarted(team)) == ["two"]
    assert texts(restarted(team)) == []


def test_the_first_line_names_the_journal_and_the_offset_up_to_which_it_counts(
    team: Team, bob: JournaledReceiver
) -> None:
    outbox(team, "alice").send("bob", "one")
    bob.receive()
    account = account_of(team.directory, ["bob~2"])
    first = account.checkpoint()
    assert (first["follows"], first["offset"]) == ("bob~2", journal_of(team, "bob~2").stat().st_size)
    assert first["positions"] == bob.positions.to_json()


def test_what_a_process_wrote_after_it_was_followed_is_void(team: Team, bob: JournaledReceiver) -> None:
    outbox(team, "alice").send("bob", "one")
    (late,) = bob.inbox.read_new()  # it stands still here
    successor = restarted(team)
    bob.journal.append("mail", **late.to_json())
    assert texts(successor) == ["one"]
    with pytest.raises(Superseded):
        bob.inbox.read_new()


@pytest.mark.parametrize("begun", [b"", b"\n", b'\n{"n":1,"kind":"checkp', b"\0\0\0"])
def test_a_journal_cut_off_before_its_first_line_says_nothing(
    team: Team, bob: JournaledReceiver, begun: bytes
) -> None:
    outbox(team, "alice").send("bob", "one")
    bob.receive()
    dead = Roster(team, "lead~1").restart("bob")
    journal_of(team, f"bob~{dead.incarnation}").write_bytes(begun)
    assert texts(restarted(team)) == []


@pytest.mark.parametrize(
    "spoiled", [b"\n!! garbage\n", b"\0" * 300, b'\n{"kind":"mail","source":"al', b"[]\n\xff"]
)
def test_garbage_in_a_journal_costs_no_delivery(team: Team, bob: JournaledReceiver, spoiled: bytes) -> None:
    sender = outbox(team, "alice")
    sender.send("bob", "one")
    bob.receive()
    with journal_of(team, "bob~2").open("ab") as journal:
        journal.write(spoiled)
    sender.send("bob", "two")
    assert texts(bob) == ["two"]
    assert texts(restarted(team)) == []


def counting(team: Team) -> tuple[Team, CountingDirectory]:
    """The same team, seen through a directory that counts."""
    directory = CountingDirectory(team.root)
    directory.reset()
    return replace(team, directory=directory), directory


def test_the_end_of_a_journal_is_enough(team: Team, bob: JournaledReceiver) -> None:
    for _ in range(40):
        bob.journal.append("assistant", text="x" * 50_000)
    bob.journal.append("checkpoint", positions=bob.positions.to_json())
    _, directory = counting(team)
    account = account_of(directory, ["bob~2"])
    assert account.journal == "bob~2"
    assert directory.bytes_read < account.offset / 4


def test_a_delivery_reads_what_is_new_whatever_was_sent_before(team: Team, bob: JournaledReceiver) -> None:
    counted, directory = counting(team)
    sender, receiver, costs = outbox(team, "alice"), JournaledReceiver(counted, "bob"), []
    assert bob.positions.ends == {}
    for backlog in (1, 200):
        for number in range(backlog):
            sender.send("bob", f"{number:04}")
            receiver.receive()
        sender.send("bob", "last")
        directory.reset()
        assert texts(receiver) == ["last"]
        costs.append((dict(directory.calls), directory.bytes_read // 50))
    assert costs[0] == costs[1]


# who sends


def test_a_sender_that_was_followed_sends_nothing_more(team: Team, bob: JournaledReceiver) -> None:
    former = outbox(team, "alice")
    former.send("bob", "one")
    Roster(team, "lead~1").restart("alice")
    with pytest.raises(Superseded):
        former.send("bob", "late")
    assert texts(bob) == ["one"]


def test_a_lead_whose_term_is_over_sends_nothing_more(team: Team, bob: JournaledReceiver) -> None:
    former = leads(team)
    leads(team)
    with pytest.raises(TermOver):
        former.outbox.send("bob", "late")
    assert texts(bob) == []


def test_what_is_sent_again_after_a_closed_member_took_it_is_no_bounce(
    team: Team, bob: JournaledReceiver
) -> None:
    outbox(team, "alice").send("bob", "one", message_id="call_1")
    bob.receive()
    leave(team, "bob", bob.positions.ends)
    Roster(team, "lead~1").restart("alice")
    again = outbox(team, "alice")
    assert again.send("bob", "one", message_id="call_1").id == "call_1"
    with pytest.raises(RecipientGone):
        again.send("bob", "two", message_id="call_2")


def test_what_a_closed_member_journaled_behind_its_positions_is_a_bounce(
    team: Team, bob: JournaledReceiver
) -> None:
    outbox(team, "alice").send("bob", "one", message_id="call_1")
    bob.receive()
    leave(team, "bob", {})  # whoever closed it had followed it before that line
    with pytest.raises(RecipientGone):
        outbox(team, "alice").send("bob", "one", message_id="call_1")


def looks_after(team: Team, name: str, left: int) -> list[int]:
    """What it costs to look up so much that a member left over, whose name three others bore before it."""
    join(team, name)
    for _ in range(3):
        receiver = JournaledReceiver(team, name)
        outbox(team, "alice").send(name, "taken")
        receiver.receive()
        leave(team, name, receiver.positions.ends)
        join(team, name)
    for number in range(left):
        outbox(team, "alice").send(name, str(number))
    leave(team, name, receiver.positions.ends)
    counted, directory = counting(team)
    roster, costs = Roster(counted, "lead~1"), []
    gone = roster.member(name)
    assert gone
    for look in (lambda: left_over(counted, roster, gone), lambda: sent_by(counted, roster, "alice")):
        directory.reset()
        assert len(look()) >= left
        costs.append(directory.calls.total())
    return costs


def test_how_much_was_left_over_changes_little_of_what_looking_it_up_costs(team: Team) -> None:
    join(team, "alice")
    few, many = looks_after(team, "bob", 1), looks_after(team, "cid", 60)
    assert many[0] < 2 * few[0]
    assert many[1] < 3 * few[1]  # it looks at both
