"""A sub-agent of a teammate whose task waits for an approved plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.subagents import delegating
from tests.support.teammate import team_beside_repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clock import FakeClock

RULES = """
  - when: {tools_called: ^$}
    call:
      - read_file: {path: a.py}
      - write_file: {path: b.py, content: 'B = 1'}
      - bash: {command: ls}
  - say: Tried.
"""


@pytest.mark.anyio
async def test_before_the_plan_is_approved_it_reads_and_changes_nothing(
    tmp_path: Path, clock: FakeClock
) -> None:
    team = team_beside_repository(tmp_path, clock)
    async with delegating("teammate", team, RULES, plan_required=True) as under:
        assert await under.report("Try.") == "Tried."
        assert under.texts().count("[plan/plan_required]") == 2
        assert "A = 1" in under.texts()
