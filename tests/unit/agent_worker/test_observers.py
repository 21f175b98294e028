"""A teammate that observes others calls nobody silent while it cannot show that it lives itself."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agent_worker.compose import Teammate
from coordination.errors import StateUnwritable
from coordination.liveness import LOOKS_PER_TTL, Beat
from coordination.records import MemberState
from coordination.roster import Superseded
from coordination.team_root import Team
from tests.support.broken_mount import BrokenMount
from tests.support.people import comes_alive, elsewhere
from tests.support.teammate import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.stores import Stores
    from tests.support.clock import FakeClock

TTL = 15.0  # on a local disk, unless the person set another


@pytest.fixture
def alice(team: Team, lead: Stores) -> Iterator[Teammate]:
    assert lead
    made = Teammate(team, comes_alive(team, "alice"), SETTINGS)
    yield made
    made.wakeup.close()


def looks_at_bob(alice: Teammate, clock: FakeClock, *, beats: bool) -> None:
    lookout = alice.worker()._lookout
    for _ in range(3 * LOOKS_PER_TTL):
        if beats:
            alice.keeper.holds(None, None)
        lookout._look()
        clock.advance(TTL / LOOKS_PER_TTL)


@pytest.mark.parametrize(("beats", "state"), [(True, MemberState.CLOSED), (False, MemberState.ALIVE)])
def test_silence_counts_only_while_the_observer_beats(
    team: Team, lead: Stores, alice: Teammate, clock: FakeClock, *, beats: bool, state: MemberState
) -> None:
    comes_alive(team, "bob", elsewhere())
    looks_at_bob(alice, clock, beats=beats)
    bob = lead.roster.member("bob")
    assert bob
    assert bob.state is state


def test_one_that_another_stands_in_for_looks_no_more(lead: Stores, alice: Teammate) -> None:
    lead.roster.supersede("alice", 2, "silent")
    with pytest.raises(Superseded):
        alice.worker()._lookout._look()


def test_a_lead_is_late_after_half_a_ttl_and_on_time_after_its_next_beat(
    team: Team, clock: FakeClock
) -> None:
    beat = Beat(team, "lead~1")
    beat.beat()
    clock.advance(TTL)
    assert [beat.beat_in_time(TTL), beat.beat_in_time(TTL)] == [False, True]


def test_a_full_disk_holds_a_lead_up_and_a_lost_mount_ends_it(team: Team, clock: FakeClock) -> None:
    mount = BrokenMount(team.root, clock=clock)
    beat = Beat(Team(id=team.id, directory=mount, repository=team.repository, clock=clock), "lead~1")
    beat.beat()
    mount.fault = errno.ENOSPC
    assert not beat.beat_in_time(TTL)
    mount.fault = errno.EIO
    with pytest.raises(StateUnwritable):
        beat.beat_in_time(TTL)
