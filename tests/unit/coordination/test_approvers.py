"""Terminals of other hosts count while they show signs of life."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import approvers, layout
from coordination.approvers import PATIENCE_SECONDS, Attachment, attached, is_somebody_attached
from coordination.profile import Joined, Profile, profile_log
from tests.support.clock import FakeClock
from tests.support.people import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team


class Meanwhile(FakeClock):
    """While one waits, the other host goes on."""

    goes_on: Callable[[], None] = staticmethod(lambda: None)

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.goes_on()


@pytest.fixture
def clock() -> FakeClock:
    return Meanwhile()


@pytest.fixture
def far(team: Team, monkeypatch: pytest.MonkeyPatch) -> Attachment:
    """A terminal of another host, or of a container on this one, which began before the other joined."""
    with monkeypatch.context() as there:
        there.setattr(approvers, "this_process", elsewhere)
        return Attachment(team)


def join(team: Team, profile: Profile) -> None:
    for host in ("here", "far"):
        joined = Joined(profile=profile, found=profile, host=host, at="").to_json()
        profile_log(team.directory).commit(lambda *_, joined=joined: joined)


@pytest.mark.parametrize("profile", [Profile.FLOCK, Profile.LOCAL])
def test_a_terminal_of_another_host_counts_while_it_beats(
    team: Team, far: Attachment, clock: Meanwhile, profile: Profile
) -> None:
    join(team, profile)
    assert not is_somebody_attached(team)  # its host may be dead
    clock.goes_on, began = far.beat, clock.monotonic()
    assert is_somebody_attached(team)
    assert clock.monotonic() - began < PATIENCE_SECONDS
    far.close()
    assert not is_somebody_attached(team)


def test_on_one_machine_nothing_is_written_again(team: Team) -> None:
    with attached(team) as here:
        (name,) = team.directory.names(layout.APPROVERS)
        before = team.directory.read(f"{layout.APPROVERS}/{name}")
        here.beat()
        assert team.directory.read(f"{layout.APPROVERS}/{name}") == before
        assert is_somebody_attached(team)
