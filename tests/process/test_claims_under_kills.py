"""One winner of each claim, whoever is killed, and whoever lost the lease meanwhile."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination.team_root import create_team
from tests.support.claim_chaos import Size, contend

if TYPE_CHECKING:
    from collections.abc import Iterator


SMOKE = Size(claims=150, last_token=40, tick_seconds=0.2)
FULL = Size(claims=100_000)
SIZES = [
    pytest.param(SMOKE, id="smoke"),
    pytest.param(FULL, id="full", marks=pytest.mark.stress),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: a kill leaves there what it leaves on a disk, only sooner."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="leadhand-", dir=shared if shared.is_dir() else tmp_path))
    yield place
    shutil.rmtree(place)


@pytest.mark.parametrize("size", SIZES)
def test_each_claim_has_one_winner_and_no_late_write_counts(memory: Path, size: Size) -> None:
    team = create_team(memory, memory)
    outcome = contend(team, size, random.Random(1), patience_seconds=30 + size.claims / 30)
    assert outcome.contested >= size.claims
    assert outcome.kills > 0
    assert outcome.acted["reclaimed"] > 0
    assert outcome.acted["refused"] > 0
    assert outcome.faults == []
