"""Tasks and mail of the dead and the silent come back, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.events import EventTail
from coordination.liveness import LOOKS_PER_TTL, Beat
from coordination.mail.positions import CHECKPOINT_KIND, Positions
from coordination.profile import Profile
from coordination.records import MemberState, Status
from coordination.sweep import REPAIR_SECONDS, Sweep
from coordination.tasks.drafts import TaskDraft
from tests.support.mail import Receiver, bearer_of, outbox
from tests.support.people import RosterOf, claimant, comes_alive, dead, elsewhere, stores_of

if TYPE_CHECKING:
    from coordination.records import Member, Task
    from coordination.stores import Stores
    from coordination.team_root import Team
    from tests.support.clock import FakeClock

TTL = 15.0


@pytest.fixture
def sweep(lead: Stores) -> Sweep:
    return Sweep(lead, ttl=lambda: TTL)


def gets_task(team: Team, lead: Stores, member: Member) -> Task:
    (task,) = lead.tasks.create([TaskDraft(subject="A")])
    lead.tasks.publish([task.id])
    return stores_of(team, member).tasks.claim(task.id, claimant(member))


def state(stores: Stores, name: str) -> MemberState:
    member = stores.roster.member(name)
    assert member
    return member.state


def actions(team: Team) -> list[str]:
    return [event["action"] for event in EventTail(team.directory).read_new()]


def takes(team: Team, name: str, *lines: dict[str, object]) -> list[str]:
    """The texts that were new; they, and the lines, are in the journal of the name's newest process."""
    receiver = Receiver(team, name)
    texts = receiver.texts()
    for line in lines:
        receiver.write(line)
    bearer = layout.bearer(*bearer_of(team, name))
    (team.root / layout.journal(name)).rename(team.root / layout.journal(bearer))
    return texts


def looks_for_a_ttl(sweep: Sweep, clock: FakeClock) -> None:
    for _ in range(LOOKS_PER_TTL):
        clock.advance(TTL / LOOKS_PER_TTL)
        sweep.look()


# who is lost


def test_the_task_of_a_dead_process_is_ready_at_the_first_look(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    task = gets_task(team, lead, comes_alive(team, "alice", dead()))
    sweep.look()
    after = lead.tasks.get(task.id)
    assert (after.status, after.owner, after.attempts) == (Status.PENDING, None, 1)
    assert after.why == "the process of alice~2 is dead"
    assert state(lead, "alice") is MemberState.CLOSED


def test_a_dead_member_is_left_to_its_lead_until_that_has_seen_its_end(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    task = gets_task(team, lead, comes_alive(team, "alice", dead()))
    sweep.is_seen_to = lambda member: member.name == "alice"
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.IN_PROGRESS
    sweep.is_seen_to = lambda _: False
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.PENDING


def test_a_member_that_beats_keeps_its_task(team: Team, lead: Stores, sweep: Sweep, clock: FakeClock) -> None:
    task, beat = gets_task(team, lead, comes_alive(team, "alice", elsewhere())), Beat(team, "alice~2")
    for _ in range(3 * LOOKS_PER_TTL):
        beat.beat()
        sweep.look()
        clock.advance(TTL / LOOKS_PER_TTL)
    assert lead.tasks.get(task.id).status is Status.IN_PROGRESS


def test_a_silent_member_loses_its_task_after_a_ttl_of_looks(
    team: Team, lead: Stores, sweep: Sweep, clock: FakeClock
) -> None:
    task = gets_task(team, lead, comes_alive(team, "alice", elsewhere()))
    sweep.look()
    clock.advance(TTL / LOOKS_PER_TTL)
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.IN_PROGRESS
    looks_for_a_ttl(sweep, clock)
    after = lead.tasks.get(task.id)
    assert (after.status, after.why) == (Status.PENDING, "alice~2 was silent for 15 s")


def test_an_observer_that_was_asleep_takes_nobody_for_silent(
    team: Team, lead: Stores, sweep: Sweep, clock: FakeClock
) -> None:
    task = gets_task(team, lead, comes_alive(team, "alice", elsewhere()))
    sweep.look()
    clock.advance(100 * TTL)
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.IN_PROGRESS


def test_nobody_sweeps_itself(team: Team, lead: Stores, clock: FakeClock) -> None:
    alice = comes_alive(team, "alice", elsewhere())
    task = gets_task(team, lead, alice)
    own = Sweep(stores_of(team, alice), ttl=lambda: TTL)
    own.look()
    looks_for_a_ttl(own, clock)
    assert lead.tasks.get(task.id).status is Status.IN_PROGRESS


def test_a_start_that_nobody_answered_is_not_the_sweeps_to_end(lead: Stores, sweep: Sweep) -> None:
    lead.roster.start("alice")
    sweep.look()
    assert state(lead, "alice") is MemberState.STARTING


def test_the_last_attempt_fails_the_task(team: Team, lead: Stores, sweep: Sweep) -> None:
    (task,) = lead.tasks.create([TaskDraft(subject="A", max_attempts=1)])
    lead.tasks.publish([task.id])
    alice = comes_alive(team, "alice", dead())
    stores_of(team, alice).tasks.claim(task.id, claimant(alice))
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.FAILED


def test_the_task_of_a_living_successor_is_left_alone(team: Team, lead: Stores, sweep: Sweep) -> None:
    gets_task(team, lead, comes_alive(team, "alice", dead()))
    again = lead.roster.restart("alice")
    held = lead.tasks.own_unfinished("alice")
    assert held
    resumed = lead.tasks.resume(held.id, claimant(again))
    sweep.look()
    assert lead.tasks.get(held.id).token == resumed.token


def test_the_task_of_a_successor_that_died_before_it_went_on_is_ready_too(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    task = gets_task(team, lead, comes_alive(team, "alice", dead()))
    RosterOf(team, dead()).restart("alice")
    sweep.look()
    assert lead.tasks.get(task.id).status is Status.PENDING


def test_two_observers_take_back_and_bury_once(team: Team, lead: Stores, sweep: Sweep) -> None:
    bob = stores_of(team, comes_alive(team, "bob"))
    task = gets_task(team, lead, comes_alive(team, "alice", dead()))
    sweep.look()
    Sweep(bob, ttl=lambda: TTL).look()
    sweep.look()
    assert lead.tasks.get(task.id).attempts == 1
    assert (actions(team).count("reclaimed"), actions(team).count("member_lost")) == (1, 1)


def test_an_observer_that_comes_second_by_a_moment_leaves_it_to_the_first(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    alice = comes_alive(team, "alice", dead())
    task = gets_task(team, lead, alice)
    bob = Sweep(stores_of(team, comes_alive(team, "bob")), ttl=lambda: TTL)
    sweep.look()
    bob._take_back(alice, "dead")
    bob._bury([(alice, "dead")])
    assert lead.tasks.get(task.id).attempts == 1
    assert actions(team).count("member_lost") == 1


# their mail


def test_on_a_shared_mount_the_names_of_all_who_are_lost_settle_before_their_mail_is_taken(
    team: Team, lead: Stores, sweep: Sweep, clock: FakeClock
) -> None:
    for name in ("alice", "bob"):
        comes_alive(team, name, dead())
    team.mount.profile, began = Profile.FLOCK, clock.monotonic()
    sweep.look()
    assert clock.monotonic() - began == team.mount.settling_seconds > 0
    assert {state(lead, name) for name in ("alice", "bob")} == {MemberState.CLOSED}
    sweep.look()
    assert clock.monotonic() - began == team.mount.settling_seconds


def test_mail_that_was_not_delivered_goes_back_to_its_sender(team: Team, lead: Stores, sweep: Sweep) -> None:
    comes_alive(team, "bob")
    comes_alive(team, "alice", dead())
    lost = [lead.outbox.send("alice", "one"), lead.outbox.send("alice", "two")]
    outbox(team, "bob").send("alice", "three")
    sweep.look()
    (to_bob,) = Receiver(team, "bob").receive()
    assert (to_bob.type, to_bob.sender) == ("undeliverable", "lead~1")
    assert "alice has left the team without taking this:\nthree" in to_bob.content
    back = team.root / layout.sent("lead", "lead~1")
    assert all(message.id in back.read_text(encoding="utf-8") for message in lost)


def test_nothing_that_was_delivered_goes_back(team: Team, lead: Stores, sweep: Sweep) -> None:
    alice = comes_alive(team, "alice", dead())
    comes_alive(team, "bob")
    outbox(team, "bob").send("alice", "taken")
    assert takes(team, "alice") == ["taken"]
    sweep.look()
    assert Receiver(team, "bob").receive() == []
    closed = lead.roster.member("alice")
    assert closed
    assert closed.positions == {"bob~2": (team.root / layout.sent("alice", "bob~2")).stat().st_size}
    assert alice.positions == {}


def test_nothing_that_was_delivered_goes_back_when_its_first_burier_died_too(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    alice = comes_alive(team, "alice", dead())
    comes_alive(team, "bob")
    outbox(team, "bob").send("alice", "taken")
    assert takes(team, "alice") == ["taken"]
    outbox(team, "bob").send("alice", "too late")
    RosterOf(team, dead()).supersede("alice", alice.incarnation or 0, "dead")
    sweep.look()
    assert state(lead, "alice") is MemberState.CLOSED
    (back,) = Receiver(team, "bob").receive()
    assert back.content.endswith("taking this:\ntoo late")


def test_a_bearer_that_died_before_its_first_line_leaves_the_positions_it_came_with(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    first = comes_alive(team, "alice")
    lead.roster.closing("alice", first.incarnation or 0)
    lead.roster.closed("alice", first.incarnation or 0, {"bob~2": 700})
    comes_alive(team, "alice", dead())
    sweep.look()
    closed = lead.roster.member("alice")
    assert closed
    assert (closed.state, closed.positions) == (MemberState.CLOSED, {"bob~2": 700})


def test_a_checkpoint_in_the_journal_counts(team: Team, lead: Stores, sweep: Sweep) -> None:
    comes_alive(team, "alice", dead())
    saved = Positions({"bob~2": 700}).to_json()
    takes(team, "alice", {"kind": CHECKPOINT_KIND, "positions": saved})
    sweep.look()
    closed = lead.roster.member("alice")
    assert closed
    assert closed.positions == {"bob~2": 700}


def test_mail_to_a_start_that_was_called_off_goes_back(team: Team, lead: Stores, sweep: Sweep) -> None:
    bob = stores_of(team, comes_alive(team, "bob"))
    start = lead.roster.start("zoe")
    bob.outbox.send("zoe", "for zoe")
    lead.roster.withdraw("zoe", start.spawn_id)
    sweep.look()
    sweep.look()
    assert [message.metadata["to"] for message in Receiver(team, "bob").receive()] == ["zoe"]


def test_the_task_of_a_start_that_came_to_nothing_is_free_for_all(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    (task,) = lead.tasks.create([TaskDraft(subject="A", reserved_for="zoe")])
    lead.tasks.publish([task.id])
    start = lead.roster.start("zoe", reserved_task=task.id)
    bob = comes_alive(team, "bob")
    sweep.look()
    assert stores_of(team, bob).tasks.claim_next(claimant(bob)) is None
    lead.roster.withdraw("zoe", start.spawn_id)
    sweep.look()
    taken = stores_of(team, bob).tasks.claim_next(claimant(bob))
    assert taken
    assert taken.id == task.id


def test_what_a_member_that_died_over_its_closing_left_goes_back_once(
    team: Team, lead: Stores, sweep: Sweep
) -> None:
    alice = comes_alive(team, "alice", dead())
    bob = stores_of(team, comes_alive(team, "bob"))
    bob.outbox.send("alice", "one")
    closed(lead, alice)  # and died before it sent anything back
    sweep.look()
    Sweep(lead, ttl=lambda: 15).look()
    assert len(Receiver(team, "bob").receive()) == 1


def closed(lead: Stores, member: Member) -> None:
    lead.roster.closing(member.name, member.incarnation or 0)
    lead.roster.closed(member.name, member.incarnation or 0, {})


# the board


def test_the_board_is_repaired_when_it_is_due_and_not_before(
    team: Team, lead: Stores, sweep: Sweep, clock: FakeClock
) -> None:
    (task,) = lead.tasks.create([TaskDraft(subject="A")])
    lead.tasks.publish([task.id])
    for hint in (team.root / layout.READY).rglob("*"):
        if hint.is_file():
            hint.unlink()
    assert not sweep.repair_if_due()
    clock.advance(REPAIR_SECONDS)
    assert sweep.repair_if_due()
    assert not sweep.repair_if_due()
    alice = comes_alive(team, "alice")
    assert stores_of(team, alice).tasks.claim_next(claimant(alice))
