"""The stage on which real lead and worker processes play."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.team_process import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Stages:
    """Makes the stages of one test."""

    def __init__(self, place: Path, open_stages: ExitStack) -> None:
        self._place = place
        self._open = open_stages

    def __call__(self, playbook: str, **settings: str) -> Stage:
        stage = Stage(self._place, playbook, **settings)
        self._open.callback(stage.close)
        return stage


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[Stages]:
    """Make a stage from a playbook; afterwards no process of it may be left."""
    with ExitStack() as stack:
        yield Stages(tmp_path, stack)
