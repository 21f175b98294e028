"""No message is lost, doubled, torn or out of order, whatever happens to the processes and the disk."""

from __future__ import annotations

import os
import random
import shutil
import subprocess  # noqa: TID251 - a file system of limited size has to be mounted
from typing import TYPE_CHECKING

import pytest

from coordination.team_root import create_team
from tests.support.mail_chaos import FOLLOWED, Chaos, Size, check, has_its_checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SMOKE = Size(senders=6, messages=24, pace_seconds=0.02, tick_seconds=0.1)
FULL = Size(senders=30, messages=200, pace_seconds=0.1, tick_seconds=0.2, disk_megabytes=512)
SIZES = [
    pytest.param(SMOKE, id="smoke"),
    pytest.param(FULL, id="full", marks=pytest.mark.stress),
]


@pytest.fixture
def small_disk(tmp_path: Path, size: Size) -> Iterator[Path]:
    """A file system of limited size."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a file system of limited size")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size.disk_megabytes}m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"cannot mount: {made.stderr.decode(errors='replace').strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_lost_doubled_torn_or_out_of_order_under_random_kills(tmp_path: Path, size: Size) -> None:
    chaos = Chaos(create_team(tmp_path, tmp_path), size, random.Random(1))
    chaos.run(patience_seconds=size.messages * 4.0)
    check(chaos.team, size)
    assert all(has_its_checkpoints(chaos.team, name) for name in size.recipients)
    assert chaos.kills > 0
    assert chaos.freezes > 0
    assert {process.exitcode for process in chaos.woken} <= {FOLLOWED, 0}


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_lost_doubled_or_torn_with_a_full_disk_in_between(small_disk: Path, size: Size) -> None:
    chaos = Chaos(create_team(small_disk, small_disk), size, random.Random(2), full_disk=True)
    chaos.run(patience_seconds=size.messages * 4.0)
    check(chaos.team, size)
