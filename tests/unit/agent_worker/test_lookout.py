"""What a teammate sees of its lead, and when it goes home alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from agent_worker.compose import Teammate
from agent_worker.lookout import ORPHAN_GRACE_SECONDS
from coordination import layout
from coordination.liveness import LOOKS_PER_TTL, Beat
from coordination.orders import ask_to_stop
from coordination.records import MemberState
from coordination.sweep import REPAIR_SECONDS
from coordination.tasks.drafts import TaskDraft
from tests.support.people import comes_alive, dead, elsewhere, leads, stores_of
from tests.support.teammate import SETTINGS, team_beside_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

TTL = 15.0


class Watcher:
    """A teammate that beats and looks."""

    def __init__(self, team: Team) -> None:
        self.teammate = Teammate(team, comes_alive(team, "alice"), replace(SETTINGS, lease_ttl_seconds=TTL))
        self.lookout = self.teammate.worker()._lookout

    def sees_lead(self) -> bool:
        self.teammate.keeper.holds(None, None)
        self.lookout._look()
        return anyio.run(self.lookout.sees_lead)


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    return team_beside_repository(tmp_path, clock)


@pytest.fixture
def alice(team: Team) -> Iterator[Watcher]:
    watcher = Watcher(team)
    yield watcher
    watcher.teammate.wakeup.close()


def test_an_order_to_stop_is_followed_and_the_first_reason_stays(team: Team, alice: Watcher) -> None:
    ask_to_stop(leads(team), alice.teammate.bearer)
    anyio.run(alice.lookout._follow)
    alice.lookout.shutdown.ask("the lead has ended")
    assert alice.lookout.is_over(has_task=True)
    assert alice.lookout.shutdown.why == "lead~1 asked it to stop"


def test_before_the_first_lead_there_is_none(alice: Watcher) -> None:
    assert not alice.sees_lead()


def test_a_lead_is_taken_for_alive_until_a_ttl_of_silence(
    team: Team, alice: Watcher, clock: FakeClock
) -> None:
    leads(team, elsewhere())
    assert alice.sees_lead()
    for _ in range(LOOKS_PER_TTL - 1):
        clock.advance(TTL / LOOKS_PER_TTL)
        assert alice.sees_lead()
    clock.advance(TTL / LOOKS_PER_TTL)
    assert not alice.sees_lead()


def test_a_lead_that_beats_again_is_alive_again(team: Team, alice: Watcher, clock: FakeClock) -> None:
    leads(team, elsewhere())
    for _ in range(2 * LOOKS_PER_TTL):
        alice.sees_lead()
        clock.advance(TTL / LOOKS_PER_TTL)
    assert not alice.sees_lead()
    Beat(team, "lead~1").beat()
    assert alice.sees_lead()


def test_a_dead_lead_is_seen_at_once_and_ends_nobody(team: Team, alice: Watcher) -> None:
    leads(team, dead())
    assert not alice.sees_lead()
    assert not alice.lookout.is_over(has_task=False)


def test_a_lead_that_ended_sends_its_teammates_home(team: Team, alice: Watcher) -> None:
    lead = leads(team)
    assert alice.sees_lead()
    lead.leadership.end(1)
    assert not alice.sees_lead()
    assert alice.lookout.shutdown.why == "the lead has ended"


def test_a_teammate_that_came_after_the_end_waits_for_the_next_lead(team: Team, alice: Watcher) -> None:
    leads(team).leadership.end(1)
    assert not alice.sees_lead()
    assert not alice.lookout.is_over(has_task=False)
    leads(team)
    assert alice.sees_lead()


def test_alone_and_without_a_task_it_goes_home_after_the_grace(
    alice: Watcher, clock: FakeClock
) -> None:  # S12
    looks = int(ORPHAN_GRACE_SECONDS / alice.lookout.interval)
    for _ in range(looks):
        clock.advance(alice.lookout.interval)
        assert not alice.sees_lead()
    assert not alice.lookout.is_over(has_task=False)
    clock.advance(alice.lookout.interval)
    alice.sees_lead()
    assert not alice.lookout.is_over(has_task=True)
    assert alice.lookout.is_over(has_task=False)
    assert (alice.lookout.shutdown.why or "").startswith("no lead for 90")


def test_a_teammate_puts_the_board_in_order_only_while_no_lead_does(
    team: Team, alice: Watcher, clock: FakeClock
) -> None:
    lead = leads(team)
    lead.tasks.publish(task.id for task in lead.tasks.create([TaskDraft(subject="A")]))
    (hint,) = (team.root / layout.ready_hints("any")).iterdir()
    hint.unlink()
    clock.advance(REPAIR_SECONDS)
    assert alice.sees_lead()
    assert not hint.exists()
    leads(team, dead())
    assert not alice.sees_lead()
    assert hint.exists()


def test_each_look_sweeps_for_lost_members(team: Team, alice: Watcher) -> None:
    comes_alive(team, "bob", dead())
    alice.sees_lead()
    bob = stores_of(team, comes_alive(team, "carol")).roster.member("bob")
    assert bob
    assert bob.state is MemberState.CLOSED
