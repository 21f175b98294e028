"""Members that back off together, each on its own clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout
from harness.models.throttle import Throttle

if TYPE_CHECKING:
    from coordination.team_root import Team


def member(team: Team, who: str) -> Throttle:
    throttle = Throttle(team.directory, layout.THROTTLE, who)
    throttle.seconds_to_wait()
    return throttle


def test_what_one_was_told_to_wait_the_others_wait_once(team: Team) -> None:
    alice, bob, lead = (member(team, who) for who in ("alice~1", "bob~1", "lead~1"))
    alice.tell(7.0)
    assert (bob.seconds_to_wait(), lead.seconds_to_wait()) == (7.0, 7.0)
    assert (bob.seconds_to_wait(), lead.seconds_to_wait()) == (0.0, 0.0)


def test_nobody_waits_for_its_own_word(team: Team) -> None:
    alice = member(team, "alice~1")
    alice.tell(7.0)
    assert alice.seconds_to_wait() == 0.0


def test_the_same_wait_again_is_a_new_word_and_the_longest_counts(team: Team) -> None:
    alice, bob, carol = (member(team, who) for who in ("alice~1", "bob~1", "carol~1"))
    alice.tell(1.0)
    assert carol.seconds_to_wait() == 1.0
    alice.tell(1.0)
    bob.tell(3.0)
    assert carol.seconds_to_wait() == 3.0


def test_who_comes_later_does_not_wait_for_what_was_said_before(team: Team) -> None:
    member(team, "alice~1").tell(30.0)
    assert Throttle(team.directory, layout.THROTTLE, "bob~1").seconds_to_wait() == 0.0


def test_a_torn_or_foreign_file_keeps_nobody(team: Team) -> None:
    bob = member(team, "bob~1")
    member(team, "alice~1").tell(1.0)
    place = team.root / layout.THROTTLE
    (place / "carol~1.json").write_text('{"count": 1, "sec')
    (place / "dave~1.json").mkdir()
    assert bob.seconds_to_wait() == 1.0


def test_who_leaves_takes_its_file_along(team: Team) -> None:
    alice = member(team, "alice~1")
    alice.tell(1.0)
    alice.leave()
    assert list((team.root / layout.THROTTLE).iterdir()) == []
