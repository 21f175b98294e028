"""A teammate at its work, in a team with an open run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.teammate import TeammateUnderTest, opens_run, team_beside_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordination.records import Run
    from coordination.stores import Stores
    from coordination.team_root import Team
    from tests.support.clock import FakeClock


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    return team_beside_repository(tmp_path, clock)


@pytest.fixture
def run(lead: Stores) -> Run:
    return opens_run(lead)


@pytest.fixture
def alice(team: Team, run: Run) -> Iterator[TeammateUnderTest]:
    assert run
    made = TeammateUnderTest(team)
    yield made
    made.teammate.wakeup.close()
