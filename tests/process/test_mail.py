"""Mail between real processes, among them such as are killed (scenarios S2 and S3)."""

from __future__ import annotations

import functools
import multiprocessing
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from coordination.clock import SystemClock
from coordination.mail.bearers import RecipientGone
from coordination.mail.lines import sender_name
from coordination.records import Message
from coordination.roster import Roster
from coordination.team_root import create_team
from tests.support.mail import Receiver, bearer_of, box, delivered, join, leave, outbox
from tests.support.mail_processes import receive_for_ever, send_for_ever, send_together

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from coordination.team_root import Team


SPAWN = multiprocessing.get_context("spawn")
PATIENCE_SECONDS = 30.0


@pytest.fixture
def real_team(tmp_path: Path) -> Team:
    """A team whose clock runs, with bob on it."""
    root = tmp_path / "real"
    root.mkdir()
    team = create_team(root, root)
    join(team, "bob")
    return team


def started(target: Callable[..., None], *arguments: object) -> SpawnProcess:
    process = SPAWN.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def wait_until(condition: Callable[[], bool]) -> None:
    clock, deadline = SystemClock(), SystemClock().monotonic() + PATIENCE_SECONDS
    while not condition():
        assert clock.monotonic() < deadline, "it did not happen in time"
        clock.sleep(0.005)


def killed(process: SpawnProcess) -> None:
    process.kill()
    process.join()
    process.close()


def test_s2_ten_processes_send_at_once_and_every_line_arrives_whole_in_order(real_team: Team) -> None:  # W10
    barrier = SPAWN.Barrier(11)
    names = [f"sender{number}" for number in range(10)]
    senders = [started(send_together, str(real_team.root), name, 100, barrier) for name in names]
    barrier.wait(PATIENCE_SECONDS)
    bob = Receiver(real_team, "bob")
    arrivals: list[Message] = []
    wait_until(functools.partial(has_taken, bob, arrivals, 1000))
    for sender in senders:
        sender.join(PATIENCE_SECONDS)
        assert sender.exitcode == 0
    assert bob.receive() == []
    assert bob.inbox.problems == []
    arrived: dict[str, list[int]] = defaultdict(list)
    for message in arrivals:
        arrived[sender_name(message.sender)].append(int(message.content.split()[0]))
    assert arrived == {name: list(range(100)) for name in names}


def test_s3_mail_to_a_member_that_left_comes_back_and_the_lead_has_the_text(real_team: Team) -> None:
    join(real_team, "alice")
    leave(real_team, "bob")
    with pytest.raises(RecipientGone, match="bob has left the team"):
        outbox(real_team, "alice").send("bob", "the text that is kept")
    assert "the text that is kept" in box(real_team, "lead", "alice~2").read_text(encoding="utf-8")


def test_a_receiver_killed_again_and_again_delivers_each_message_once(real_team: Team) -> None:
    join(real_team, "alice")
    sender = started(send_for_ever, str(real_team.root), "alice", 0)
    journal = real_team.root / ".team/transcripts/bob.jsonl"
    for _ in range(4):
        grown = grows(journal)
        receiver = started(receive_for_ever, str(real_team.root), "bob")
        wait_until(grown)
        killed(receiver)
        Roster(real_team, "lead~1").restart("bob")
        end_torn_line(journal)
    killed(sender)
    Receiver(real_team, "bob").receive()
    texts = [message.content for message in delivered(real_team, "bob")]
    assert texts == [str(number) for number in range(len(texts))]
    assert len(texts) == whole_lines(real_team)


def test_a_sender_killed_again_and_again_sends_each_message_once(real_team: Team) -> None:
    join(real_team, "alice")
    bob, arrivals = Receiver(real_team, "bob"), list[Message]()
    for enough in (50, 100, 150, 200):
        in_doubt = max(0, len(arrivals) - 5)
        sender = started(send_for_ever, str(real_team.root), "alice", in_doubt)
        wait_until(functools.partial(has_taken, bob, arrivals, enough))
        killed(sender)
        arrivals += bob.receive()
        Roster(real_team, "lead~1").restart("alice")
    assert [message.content for message in arrivals] == [str(number) for number in range(len(arrivals))]
    assert [message.id for message in delivered(real_team, "bob")] == [message.id for message in arrivals]


def has_taken(receiver: Receiver, arrivals: list[Message], enough: int) -> bool:
    """Take what one reading gives; True once there is enough."""
    deliveries = receiver.inbox.read_new()
    receiver.take(deliveries)
    arrivals += [delivery.message for delivery in deliveries]
    return len(arrivals) >= enough


def grows(path: Path) -> Callable[[], bool]:
    """A condition: the file is larger than now."""
    before = path.stat().st_size if path.exists() else 0
    return lambda: path.exists() and path.stat().st_size > before


def end_torn_line(journal: Path) -> None:
    """What a journal does when it is opened again: its torn last line counts for nothing."""
    data = journal.read_bytes()
    journal.write_bytes(data[: data.rfind(b"\n") + 1])


def whole_lines(team: Team) -> int:
    name, incarnation = bearer_of(team, "alice")
    lines = box(team, "bob", f"{name}~{incarnation}").read_bytes().split(b"\n")[:-1]
    return sum(1 for line in lines if line)
