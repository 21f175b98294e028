from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import StateUnwritable
from coordination.mail.bearers import RecipientGone, UnknownRecipient
from coordination.mail.lines import LINE_BYTES, UNDELIVERABLE
from coordination.mail.outbox import DeliveryInDoubt, MessageTooLong, Outbox
from coordination.roster import Roster
from tests.support.clock import FakeClock
from tests.support.mail import Receiver, bearer_of, box, join, leave, outbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team


class BusyClock(FakeClock):
    """Something happens while a sender waits."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile: list[Callable[[], object]] = [meanwhile]

    def sleep(self, seconds: float) -> None:
        while self._meanwhile:
            self._meanwhile.pop()()
        super().sleep(seconds)


@pytest.fixture(autouse=True)
def members(team: Team) -> None:
    for name in ("alice", "bob"):
        join(team, name)


def patient(team: Team, meanwhile: Callable[[], object]) -> Outbox:
    busy = replace(team, clock=BusyClock(meanwhile))
    return Outbox(busy, layout.bearer(*bearer_of(team, "alice")), Roster(team, "lead~1"))


def in_box(team: Team, name: str, source: str) -> list[dict[str, object]]:
    lines = box(team, name, source).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def test_a_message_carries_the_fields_of_its_line(team: Team) -> None:
    sent = outbox(team, "alice").send(
        "bob", "text", type="result", in_reply_to="msg_1", metadata={"task": "task_1"}, message_id="call_1"
    )
    (line,) = in_box(team, "bob", "alice~2")
    assert line == {
        "id": "call_1",
        "seq": 1,
        "type": "result",
        "from": "alice~2",
        "to": "bob",
        "to_start": 1,
        "content": "text",
        "sent_at": "2026-01-02T03:04:05.000Z",
        "in_reply_to": "msg_1",
        "metadata": {"task": "task_1"},
    }
    assert sent.to_json() == line


def test_the_sequence_counts_over_all_recipients(team: Team) -> None:
    alice = outbox(team, "alice")
    assert [alice.send(to, "x").seq for to in ("bob", "lead", "bob")] == [1, 2, 3]


@pytest.mark.parametrize("to", ["carol", "../escape", "", "BOB", "person", "bob~2", "a" * 65])
def test_an_unknown_recipient_is_refused_with_the_names_that_are_there(team: Team, to: str) -> None:  # T21
    with pytest.raises(UnknownRecipient) as refusal:
        outbox(team, "alice").send(to, "x")
    assert refusal.value.known == ("lead", "alice", "bob")
    assert "lead, alice, bob" in str(refusal.value)
    assert [path.name for path in (team.root / "mailboxes").iterdir()] == ["lead.d"]


def test_mail_to_a_member_that_left_is_refused_and_the_lead_has_the_text(team: Team) -> None:  # T120
    leave(team, "bob")
    with pytest.raises(RecipientGone, match="bob has left the team"):
        outbox(team, "alice").send("bob", "the important text", message_id="call_1")
    (told,) = in_box(team, "lead", "alice~2")
    assert told["type"] == UNDELIVERABLE
    assert "the important text" in str(told["content"])
    assert told["metadata"] == {"to": "bob", "ids": ["call_1"]}


def test_mail_to_a_member_that_is_starting_waits_for_it(team: Team) -> None:
    roster = Roster(team, "lead~1")
    spawn = roster.start("carol").spawn_id
    outbox(team, "alice").send("carol", "welcome")
    roster.come_alive("carol", spawn)
    assert Receiver(team, "carol").texts() == ["welcome"]


def test_a_line_that_the_last_drain_took_was_delivered(team: Team) -> None:
    roster = Roster(team, "lead~1")
    _, bob = bearer_of(team, "bob")
    receiver = Receiver(team, "bob")
    roster.closing("bob", bob)

    def last_drain() -> None:
        receiver.receive()
        Roster(team, "lead~1").closed("bob", bob, receiver.inbox.positions.ends)

    assert patient(team, last_drain).send("bob", "just in time").to == "bob"


def test_a_line_behind_the_last_drain_comes_back(team: Team) -> None:  # W17
    roster = Roster(team, "lead~1")
    _, bob = bearer_of(team, "bob")
    roster.closing("bob", bob)
    late = patient(team, lambda: Roster(team, "lead~1").closed("bob", bob, {}))
    with pytest.raises(RecipientGone):
        late.send("bob", "too late")


def test_a_line_for_a_closed_bearer_comes_back_even_if_a_new_one_lives(team: Team) -> None:
    _, bob = bearer_of(team, "bob")
    Roster(team, "lead~1").closing("bob", bob)

    def succession() -> None:
        Roster(team, "lead~1").closed("bob", bob, {})
        join(team, "bob")

    with pytest.raises(RecipientGone):
        patient(team, succession).send("bob", "for the old one")
    assert Receiver(team, "bob").texts() == []


def test_only_the_positions_of_the_addressed_bearer_count(team: Team) -> None:
    leave(team, "bob", {"alice~2": 10**6})
    join(team, "bob")
    _, bob = bearer_of(team, "bob")
    Roster(team, "lead~1").closing("bob", bob)
    with pytest.raises(RecipientGone):
        patient(team, lambda: Roster(team, "lead~1").closed("bob", bob, {})).send("bob", "too late")


def test_a_bearer_that_does_not_finish_closing_leaves_the_sender_in_doubt(team: Team) -> None:
    Roster(team, "lead~1").closing(*bearer_of(team, "bob"))
    with pytest.raises(DeliveryInDoubt):
        outbox(team, "alice").send("bob", "x")


def test_a_member_that_restarts_while_a_dead_one_is_drained_gets_the_mail(team: Team) -> None:
    Roster(team, "lead~1").supersede(*bearer_of(team, "bob"))
    patient(team, lambda: Roster(team, "lead~1").restart("bob")).send("bob", "x")
    assert Receiver(team, "bob").texts() == ["x"]


def test_what_a_dead_member_left_over_goes_back_to_each_sender_once(team: Team) -> None:
    join(team, "carol")
    alice = outbox(team, "alice")
    for text in ("one", "two"):
        alice.send("bob", text)
    outbox(team, "carol").send("bob", "three")
    left = Receiver(team, "bob").inbox.read_new()
    sent = outbox(team, "bob").send_back(left, to="bob")
    assert [message.to for message in sent] == ["alice", "carol"]
    (back,) = Receiver(team, "alice").receive()
    assert back.type == UNDELIVERABLE
    assert "one\ntwo" in back.content


def test_a_message_that_fits_on_no_line_is_refused(team: Team) -> None:
    with pytest.raises(MessageTooLong):
        outbox(team, "alice").send("bob", "x" * LINE_BYTES)


def test_the_longest_message_arrives(team: Team) -> None:
    alice = outbox(team, "alice")
    frame = len(json.dumps(alice.send("bob", "").to_json(), separators=(",", ":")))
    longest = "x" * (LINE_BYTES - 1 - frame)
    alice.send("bob", longest)
    alice.send("bob", "next")
    bob = Receiver(team, "bob")
    assert bob.texts() == ["", longest, "next"]
    assert bob.inbox.problems == []


def test_text_that_no_file_can_hold_is_scrubbed(team: Team) -> None:
    alice = outbox(team, "alice")
    alice.send("bob", "a\ud800b", metadata={"k\udfff": ["\ud800", {"x": 1, "y": None}]})
    (message,) = Receiver(team, "bob").receive()
    assert (message.content, message.metadata) == ("a?b", {"k?": ["?", {"x": 1, "y": None}]})


def test_a_text_with_newlines_and_quotes_stays_one_line(team: Team) -> None:
    text = 'first\nsecond\r\n{"id": "forged"}\n\u2028\x00end'
    outbox(team, "alice").send("bob", text)
    assert Receiver(team, "bob").texts() == [text]


def test_a_refused_append_is_an_error_and_is_delivered_once_when_repeated(team: Team) -> None:
    alice = outbox(team, "alice")
    blocker = team.root / layout.inbox("bob")
    blocker.write_text("in the way")
    with pytest.raises(StateUnwritable):
        alice.send("bob", "x", message_id="call_1")
    blocker.unlink()
    alice.send("bob", "x", message_id="call_1")
    assert Receiver(team, "bob").texts() == ["x"]


def test_a_torn_append_is_repeated_with_the_same_id(team: Team) -> None:
    path = box(team, "bob", "alice~2")
    path.write_bytes(b'\n{"id":"call_1","seq":1,"type":"mess')
    outbox(team, "alice").send("bob", "x", message_id="call_1")
    assert Receiver(team, "bob").texts() == ["x"]


def test_a_closed_outbox_opens_its_files_again(team: Team) -> None:
    alice = outbox(team, "alice")
    alice.send("bob", "one")
    alice.close()
    alice.send("bob", "two")
    assert Receiver(team, "bob").texts() == ["one", "two"]
