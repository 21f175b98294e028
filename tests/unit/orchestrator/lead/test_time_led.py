"""How long a run was led counts on with its next lead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from orchestrator.lead.mind import Halts
from orchestrator.lead.opening import Opened
from orchestrator.lead.standing import Standing
from tests.support.people import leads
from tests.support.teammate import SETTINGS, opens_run, team_beside_repository
from workspace.git import Git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clock import FakeClock


@pytest.mark.parametrize(("limit", "is_over"), [(10.0, True), (30.0, False), (None, False)])
def test_minutes_under_a_lead_that_was_killed_count_for_the_limit_of_the_team(
    tmp_path: Path, clock: FakeClock, limit: float | None, *, is_over: bool
) -> None:
    stores = leads(team_beside_repository(tmp_path, clock))
    opened = Opened(stores=stores, git=Git(stores.team.repository), term=1, run=opens_run(stores))
    settings = replace(SETTINGS, team_max_minutes=limit)
    killed = Halts(opened, replace(SETTINGS, team_max_minutes=60.0))
    for _ in range(9):
        clock.advance(60)
        assert killed.halt(Standing.GOING, in_session=False) is None
    clock.advance(3600)  # nobody leads
    heir = Halts(opened, settings)
    assert heir.halt(Standing.GOING, in_session=False) is None
    clock.advance(60)
    halted = heir.halt(Standing.GOING, in_session=False)
    assert bool(halted) is is_over
    assert halted is None or "limits.team.max_minutes 10 (10 used)" in str(halted)
