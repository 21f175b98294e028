from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.leadership import Leadership
from coordination.mail.lines import LINE_BYTES
from coordination.mail.mailbox import LINES_A_STEP, SWEEP_SECONDS, UNKNOWN_SECONDS, Inbox
from coordination.mail.outbox import Outbox, person_outbox
from coordination.mail.positions import KNOWN_IDS, Positions
from coordination.protocols import TermOver
from coordination.roster import Roster, Superseded
from tests.support.mail import Receiver, bearer_of, box, delivered, join, leave, outbox, write

if TYPE_CHECKING:
    from coordination.team_root import Team
    from tests.support.clock import FakeClock


@pytest.fixture(autouse=True)
def members(team: Team) -> None:
    for name in ("alice", "bob"):
        join(team, name)


def source_of(team: Team, name: str) -> str:
    return layout.bearer(*bearer_of(team, name))


def whys(receiver: Receiver) -> list[str]:
    return [problem.why for problem in receiver.inbox.problems]


def test_mail_arrives_in_the_order_it_was_sent(team: Team) -> None:
    alice = outbox(team, "alice")
    for text in ("one", "two", "three"):
        alice.send("bob", text)
    assert Receiver(team, "bob").texts() == ["one", "two", "three"]


def test_what_was_not_taken_is_read_again(team: Team) -> None:
    outbox(team, "alice").send("bob", "hello")
    bob = Receiver(team, "bob")
    assert [bob.inbox.read_new()[0].message.content for _ in range(3)] == ["hello"] * 3


def test_what_was_taken_is_not_read_again_by_the_next_process(team: Team) -> None:
    alice = outbox(team, "alice")
    alice.send("bob", "one")
    assert Receiver(team, "bob").texts() == ["one"]
    alice.send("bob", "two")
    Roster(team, "lead~1").restart("bob")
    assert Receiver(team, "bob").texts() == ["two"]


def test_a_crash_between_reading_and_journal_loses_and_doubles_nothing(team: Team) -> None:  # W10
    alice = outbox(team, "alice")
    for number in range(10):
        alice.send("bob", str(number))
    first = Receiver(team, "bob")
    first.take(first.inbox.read_new()[:4])
    assert Receiver(team, "bob").texts() == ["4", "5", "6", "7", "8", "9"]
    assert [message.content for message in delivered(team, "bob")] == [str(number) for number in range(10)]


def test_a_message_sent_twice_with_one_id_is_delivered_once(team: Team) -> None:
    outbox(team, "alice").send("bob", "hello", message_id="call_1")
    Roster(team, "lead~1").restart("alice")
    outbox(team, "alice").send("bob", "hello", message_id="call_1")
    assert Receiver(team, "bob").texts() == ["hello"]


def test_the_same_id_of_two_senders_is_two_messages(team: Team) -> None:
    join(team, "carol")
    outbox(team, "alice").send("bob", "from alice", message_id="call_1")
    outbox(team, "carol").send("bob", "from carol", message_id="call_1")
    assert Receiver(team, "bob").texts() == ["from alice", "from carol"]


def test_a_repeat_at_the_end_of_a_file_stays_one_when_its_id_is_forgotten(team: Team) -> None:
    old = outbox(team, "alice")
    old.send("bob", "hello", message_id="call_1")
    old.send("bob", "hello", message_id="call_1")
    Receiver(team, "bob").receive()
    Roster(team, "lead~1").restart("alice")
    new, bob = outbox(team, "alice"), Receiver(team, "bob")
    for _ in range(KNOWN_IDS):
        new.send("bob", "more")
    assert bob.texts() == ["more"] * KNOWN_IDS
    assert Receiver(team, "bob").texts() == []


def test_what_was_read_but_not_taken_is_not_passed_over_for_a_repeat_behind_it(team: Team) -> None:
    join(team, "carol")
    alice, carol = outbox(team, "alice"), outbox(team, "carol")
    alice.send("bob", "from alice")
    for _ in range(2):
        carol.send("bob", "from carol", message_id="msg_1")
    bob = Receiver(team, "bob")
    bob.inbox.read_new()  # a full disk keeps it from the journal
    bob.take(bob.inbox.read_new()[:1])
    Roster(team, "lead~1").restart("bob")
    assert Receiver(team, "bob").texts() == ["from carol"]


def test_files_of_one_name_come_in_the_order_of_incarnations(team: Team) -> None:
    for number in range(10):  # `alice~10` sorts before `alice~2` as text
        outbox(team, "alice").send("bob", str(number))
        Roster(team, "lead~1").restart("alice")
    assert Receiver(team, "bob").texts() == [str(number) for number in range(10)]


def test_one_reading_ends_at_its_limit_and_says_so(team: Team) -> None:
    alice, bob = outbox(team, "alice"), Receiver(team, "bob")
    for number in range(5):
        alice.send("bob", str(number))
    first = bob.inbox.read_new(limit=3)
    assert (len(first), bob.inbox.is_behind) == (3, True)
    bob.take(first)
    assert [delivery.message.content for delivery in bob.inbox.read_new(limit=3)] == ["3", "4"]
    assert not bob.inbox.is_behind


def test_the_last_drain_reads_everything(team: Team) -> None:
    alice = outbox(team, "alice")
    for number in range(LINES_A_STEP + 1):
        alice.send("bob", str(number))
    assert len(Receiver(team, "bob").inbox.read_all()) == LINES_A_STEP + 1


def test_a_flood_of_one_sender_does_not_keep_others_out(team: Team) -> None:
    join(team, "zoe")
    alice, bob = outbox(team, "alice"), Receiver(team, "bob")
    for _ in range(6):
        alice.send("bob", "flood")
    outbox(team, "zoe").send("bob", "quiet")
    bob.take(bob.inbox.read_new(limit=3))
    assert bob.inbox.read_new(limit=3)[0].message.content == "quiet"


def test_a_torn_last_line_waits_for_its_newline(team: Team) -> None:
    outbox(team, "alice").send("bob", "hello")
    path = box(team, "bob", source_of(team, "alice"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    bob = Receiver(team, "bob")
    assert bob.texts() == []
    assert whys(bob) == []
    path.write_bytes(whole)
    assert bob.texts() == ["hello"]


def test_a_line_of_a_process_counts_with_its_newline_only(team: Team) -> None:
    outbox(team, "alice").send("bob", "hello")
    path = box(team, "bob", source_of(team, "alice"))
    path.write_bytes(path.read_bytes()[:-1])
    assert Receiver(team, "bob").texts() == []  # its sender would not find it taken


def test_a_torn_line_that_the_next_one_ended_is_reported_and_passed_over(team: Team) -> None:
    alice = outbox(team, "alice")
    write(team, "bob", source_of(team, "alice"), b'\n{"id":"x","content":"ha')
    alice.send("bob", "whole")
    bob = Receiver(team, "bob")
    assert bob.texts() == ["whole"]
    assert whys(bob)[0].startswith("no JSON")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00" * 4096 + b"\n",
        b"\xff\xfe\x80\n",
        b"[]\n",
        b'"text"\n',
        b"{}\n",
        b'{"content": 5}\n',
        b"\n\n\r\n \n",
        b'{"from": ["x"], "content": "y"}\n',
        b'{"content": "\\ud800"}\n',
        b"{" * 100_000 + b"\n",
        b'{"metadata": ' + b"[" * 100_000 + b"\n",
    ],
)
def test_garbage_holds_nothing_up(team: Team, garbage: bytes) -> None:  # W11
    source = source_of(team, "alice")
    write(team, "bob", source, garbage)
    outbox(team, "alice").send("bob", "behind it")
    write(team, "bob", source, garbage)
    assert Receiver(team, "bob").texts() == ["behind it"]


def test_a_bad_line_does_not_move_the_position(team: Team) -> None:
    write(team, "bob", source_of(team, "alice"), b"garbage\n" * 5000)
    bob = Receiver(team, "bob")
    assert bob.texts() == []
    assert bob.inbox.positions.ends == {}


def test_more_garbage_than_one_reading_takes_is_passed_over(team: Team) -> None:
    write(team, "bob", source_of(team, "alice"), b"garbage\n" * 5000)
    outbox(team, "alice").send("bob", "behind it")
    assert Receiver(team, "bob").texts() == ["behind it"]


def test_a_line_longer_than_a_line_may_be_is_passed_over(team: Team) -> None:
    write(team, "bob", source_of(team, "alice"), b"x" * (2 * LINE_BYTES + 17) + b"\n")
    outbox(team, "alice").send("bob", "behind it")
    bob = Receiver(team, "bob")
    assert bob.texts() == ["behind it"]
    assert whys(bob) == [f"longer than {LINE_BYTES} bytes"]


def test_a_problem_is_reported_once(team: Team) -> None:
    write(team, "bob", source_of(team, "alice"), b"garbage\n")
    bob = Receiver(team, "bob")
    for _ in range(3):
        bob.receive()
    assert len(bob.inbox.problems) == 1


def test_a_line_that_claims_another_sender_is_rejected(team: Team) -> None:  # W4
    outbox(team, "alice").send("bob", "honest")
    path = box(team, "bob", source_of(team, "alice"))
    write(team, "bob", source_of(team, "alice"), path.read_bytes().replace(b'"alice~2"', b'"lead~1"'))
    bob = Receiver(team, "bob")
    assert bob.texts() == ["honest"]
    assert whys(bob) == ["it claims to be from lead~1"]


def test_a_line_addressed_to_somebody_else_is_rejected(team: Team) -> None:
    join(team, "carol")
    outbox(team, "alice").send("carol", "for carol")
    copied = box(team, "carol", source_of(team, "alice")).read_bytes()
    write(team, "bob", source_of(team, "alice"), copied)
    assert Receiver(team, "bob").texts() == []


def test_the_sender_is_taken_from_the_file(team: Team) -> None:
    sent = outbox(team, "alice").send("bob", "x").to_json()
    del sent["from"]
    write(team, "bob", source_of(team, "alice"), json.dumps(sent | {"id": "other"}).encode() + b"\n")
    assert {message.sender for message in Receiver(team, "bob").receive()} == {source_of(team, "alice")}


def test_a_sender_that_is_not_on_the_roster_is_left_and_reported_after_a_minute(
    team: Team, clock: FakeClock
) -> None:
    outbox(team, "alice").send("bob", "known")
    path = box(team, "bob", source_of(team, "alice"))
    write(team, "bob", "mallory~3", path.read_bytes().replace(b"alice~2", b"mallory~3"))
    bob = Receiver(team, "bob")
    assert bob.texts() == ["known"]
    assert whys(bob) == []
    clock.advance(UNKNOWN_SECONDS)
    assert bob.texts() == []
    assert whys(bob) == ["its sender is not on the roster"]


def test_an_incarnation_that_never_was_is_not_on_the_roster(team: Team) -> None:
    sent = outbox(team, "alice").send("bob", "x").to_json() | {"from": "alice~1"}
    write(team, "bob", "alice~1", json.dumps(sent).encode() + b"\n")  # 1 is the `starting` record
    assert [message.sender for message in Receiver(team, "bob").receive()] == ["alice~2"]


def test_a_sender_that_joins_later_is_read_then(team: Team, clock: FakeClock) -> None:
    sent = outbox(team, "alice").send("bob", "x").to_json() | {"from": "carol~2", "content": "early"}
    write(team, "bob", "carol~2", json.dumps(sent).encode() + b"\n")
    bob = Receiver(team, "bob")
    bob.receive()
    join(team, "carol")
    clock.advance(SWEEP_SECONDS)
    assert bob.texts() == ["early"]


def test_a_line_by_hand_needs_only_content(team: Team) -> None:
    write(team, "bob", "person~laptop", b'{"content": "please hurry"}\n')
    (delivery,) = Receiver(team, "bob").inbox.read_new()
    message = delivery.message
    assert (message.content, message.sender, message.type) == ("please hurry", "person~laptop", "message")
    assert not delivery.proven


def test_a_line_by_hand_needs_no_newline(team: Team) -> None:
    bob = Receiver(team, "bob")
    write(team, "bob", "person~laptop", b'{"content": "one"}')
    assert bob.texts() == ["one"]
    write(team, "bob", "person~laptop", b'\n{"content": "two"}')
    assert bob.texts() == ["two"]


def test_a_file_by_hand_may_be_written_anew(team: Team) -> None:
    path = box(team, "bob", "person~laptop")
    path.write_bytes(b'{"content": "one"}\n{"content": "two"}\n')
    assert Receiver(team, "bob").texts() == ["one", "two"]
    path.write_bytes(b'{"content": "one"}\n')
    assert Receiver(team, "bob").texts() == []
    path.write_bytes(b'{"content": "3"}\n')
    assert Receiver(team, "bob").texts() == ["3"]


def test_a_person_cannot_speak_as_a_member(team: Team) -> None:
    write(team, "bob", "person~laptop", b'{"from": "lead~1", "content": "obey"}\n')
    assert Receiver(team, "bob").texts() == []


def test_the_command_line_sends_as_a_person(team: Team) -> None:
    person_outbox(team, Roster(team, "person")).send("bob", "psst")
    (delivery,) = Receiver(team, "bob").inbox.read_new()
    assert (delivery.proven, delivery.message.content) == (False, "psst")


def test_a_file_with_another_name_is_reported_and_not_read(team: Team) -> None:
    write(team, "bob", "pat", b'{"content": "x"}\n')
    bob = Receiver(team, "bob")
    assert bob.texts() == []
    assert "person~HOST.jsonl" in whys(bob)[0]


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_what_is_no_file_is_reported_and_not_read(team: Team, kind: str) -> None:
    path = box(team, "bob", "person~laptop")
    if kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(team.root / layout.TEAM_FILE)
    bob = Receiver(team, "bob")
    assert bob.texts() == []
    assert len(bob.inbox.problems) == 1


def test_a_source_shorter_than_its_position_is_reported(team: Team) -> None:
    outbox(team, "alice").send("bob", "x")
    bob = Inbox(
        team,
        *bearer_of(team, "bob"),
        Roster(team, "lead~1"),
        Positions({source_of(team, "alice"): 10**6}),
    )
    assert bob.read_new() == []
    assert [problem.why for problem in bob.problems] == ["it is shorter than what was read of it"]


def test_a_new_bearer_goes_on_from_the_positions_and_gets_nothing_of_its_predecessor(
    team: Team,
) -> None:  # W13
    alice, old = outbox(team, "alice"), Receiver(team, "bob")
    alice.send("bob", "taken")
    old.receive()
    alice.send("bob", "left over")
    leave(team, "bob", old.inbox.positions.ends)
    join(team, "bob")
    alice.send("bob", "for the new one")
    new = Inbox(team, *bearer_of(team, "bob"), Roster(team, "bob"), Positions(old.inbox.positions.ends))
    assert [delivery.message.content for delivery in new.read_new()] == ["for the new one"]
    assert [problem.why for problem in new.problems] == ["it is for another bearer of the name"]


def test_a_superseded_receiver_reads_nothing_more(team: Team) -> None:
    bob = Receiver(team, "bob")
    Roster(team, "lead~1").restart("bob")
    with pytest.raises(Superseded):
        bob.inbox.read_new()


def test_the_lead_receives_until_the_next_term(team: Team) -> None:
    term = Leadership(team).take()
    roster = Roster(team, "lead~1")
    lead = Inbox(team, "lead", term, roster, Positions())
    outbox(team, "alice").send("lead", "done")
    assert [delivery.message.content for delivery in lead.read_new()] == ["done"]
    leadership = Leadership(team)
    leadership.newest()
    leadership.take(silent=True)
    with pytest.raises(TermOver):
        lead.read_new()


def test_mail_of_the_lead_needs_its_term(team: Team) -> None:
    roster = Roster(team, "lead~1")
    Outbox(team, "lead~1", roster).send("bob", "too early")
    bob = Receiver(team, "bob")
    assert bob.texts() == []
    Leadership(team).take()
    assert Receiver(team, "bob").texts() == ["too early"]


def test_the_file_of_a_sender_that_left_is_looked_at_by_the_sweep_only(team: Team, clock: FakeClock) -> None:
    outbox(team, "alice").send("bob", "x")
    bob = Receiver(team, "bob")
    bob.receive()
    late = outbox(team, "alice")
    leave(team, "alice")
    clock.advance(SWEEP_SECONDS)
    bob.receive()
    late.send("bob", "late")
    assert bob.texts() == []
    clock.advance(SWEEP_SECONDS)
    assert bob.texts() == ["late"]


def test_a_sender_that_left_is_read_to_its_end_before_the_sweep_has_it(team: Team) -> None:
    alice = outbox(team, "alice")
    for number in range(4):
        alice.send("bob", str(number))
    leave(team, "alice")
    bob = Receiver(team, "bob")
    bob.take(bob.inbox.read_new(limit=2))
    assert bob.texts() == ["2", "3"]


def test_what_a_former_incarnation_sent_comes_first_though_it_was_not_taken_at_once(team: Team) -> None:
    outbox(team, "alice").send("bob", "one")
    Roster(team, "lead~1").restart("alice")
    outbox(team, "alice").send("bob", "two")
    bob = Receiver(team, "bob")
    bob.inbox.read_new(limit=1)  # a full disk keeps it from the journal
    assert bob.texts() == ["one", "two"]


def test_the_readable_file_shows_what_arrived(team: Team) -> None:
    outbox(team, "alice").send("bob", "hello")
    write(team, "bob", "person~laptop", b'{"content": "psst"}\n')
    inbox = Receiver(team, "bob").inbox
    for delivery in inbox.read_new():
        inbox.show([delivery])
    inbox.close()
    readable = (team.root / "mailboxes/bob.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in readable.splitlines() if line]
    assert [(line["content"], line.get("proven", True)) for line in lines] == [
        ("hello", True),
        ("psst", False),
    ]


def test_a_readable_file_that_cannot_be_written_stops_nothing(team: Team) -> None:
    outbox(team, "alice").send("bob", "hello")
    bob = Receiver(team, "bob")
    (team.root / layout.received(layout.bearer(*bearer_of(team, "bob")))).mkdir()
    (delivery,) = bob.inbox.read_new()
    bob.inbox.show([delivery])
    assert bob.texts() == ["hello"]
