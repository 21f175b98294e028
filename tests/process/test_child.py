from __future__ import annotations

import os
import subprocess  # noqa: TID251 - a real group of processes is what is ended
import sys
from typing import TYPE_CHECKING

import pytest

from coordination.child import end_group, group_runs
from coordination.clock import SystemClock
from coordination.process import start_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


WAITS = "import time; print('up', flush=True); time.sleep(60)"
IGNORES_TERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"
HAS_A_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {IGNORES_TERM!r}]).wait()"
LEAVES_A_CHILD = HAS_A_CHILD.replace(".wait()", "")


class Group:
    """A child process that leads a group of its own, and has said that it is up."""

    def __init__(self, program: str) -> None:
        self.leader = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True
        )
        assert self.leader.stdout is not None
        assert self.leader.stdout.readline() == b"up\n"
        self.id = self.leader.pid

    def close(self) -> None:
        if group_runs(self.id):
            os.killpg(self.id, 9)
        self.leader.wait()
        assert self.leader.stdout is not None
        self.leader.stdout.close()


@pytest.fixture(params=[WAITS, IGNORES_TERM, HAS_A_CHILD, LEAVES_A_CHILD])
def group(request: pytest.FixtureRequest) -> Iterator[Group]:
    made = Group(request.param)
    yield made
    made.close()


def test_no_process_of_the_group_runs_afterwards(group: Group) -> None:
    assert group_runs(group.id)
    assert end_group(group.id, SystemClock(), patience_seconds=0.3)
    assert not group_runs(group.id)
    assert start_mark(group.id) is None


def test_a_group_that_is_gone_is_ended_already() -> None:
    group = Group(WAITS)
    assert end_group(group.id, SystemClock())
    group.close()
    assert end_group(group.id, SystemClock())


def test_a_process_that_heeds_term_is_not_killed() -> None:
    program = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); {WAITS}"
    group = Group(program)
    assert end_group(group.id, SystemClock())
    assert group.leader.wait() == 7
    group.close()


def test_a_stopped_group_ends_too() -> None:
    group = Group(WAITS)
    os.killpg(group.id, 19)
    assert end_group(group.id, SystemClock(), patience_seconds=0.3)
    group.close()


@pytest.mark.parametrize("own", [os.getpgrp, lambda: 0, lambda: 1, lambda: -1])
def test_nobody_ends_its_own_group_or_everybody(own: Callable[[], int]) -> None:
    with pytest.raises(ValueError, match=r"-?\d+"):
        end_group(own(), SystemClock())
