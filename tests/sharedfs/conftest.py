"""A cluster of two hosts, made once, with its shared file systems."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sharedfs.hosts import Cluster, NoCluster, TeamOfTwo

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Skips what needs it where the machine has no namespaces, no FUSE or no root."""
    made = Cluster(Path(tempfile.mkdtemp(prefix="leadhand-sharedfs-")))
    try:
        made.up("gluster", "sshfs", "sshfs-nocache")
        yield made
    except NoCluster as reason:
        pytest.skip(f"no cluster of hosts here: {reason}")
    finally:
        made.script("down")


class Teams:
    """Makes the teams of one test."""

    def __init__(self, cluster: Cluster, open_teams: ExitStack) -> None:
        self._cluster = cluster
        self._open = open_teams

    def __call__(self, file_system: str, playbook: str = "") -> TeamOfTwo:
        place = self._open.enter_context(
            tempfile.TemporaryDirectory(prefix="team-", ignore_cleanup_errors=True)
        )
        team = TeamOfTwo(self._cluster, file_system, Path(place), playbook)
        self._open.callback(_closed, team)
        return team


def _closed(team: TeamOfTwo) -> None:
    left = team.close()
    assert not left, f"left running: {left}"


@pytest.fixture
def teams(cluster: Cluster) -> Iterator[Teams]:
    """Make a team of two hosts on one of the file systems; afterwards no process of it may be left."""
    with ExitStack() as stack:
        yield Teams(cluster, stack)
