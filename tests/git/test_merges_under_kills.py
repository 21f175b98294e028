"""A lead killed at any step of a merge: the next one ends it, and nothing is merged twice or lost."""

from __future__ import annotations

import os
import signal
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from coordination.files import StateDirectory
from coordination.records import Status
from tests.support.bringing_back import Returns
from tests.support.repository import Repository
from workspace.git import Git

if TYPE_CHECKING:
    from collections.abc import Callable

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.git.test_merges_under_kills"])

SHORT = [pytest.param(first, 6, id=f"from step {first}") for first in (1, 4)]  # every third
FULL = [pytest.param(1, 1, id="every step", marks=pytest.mark.stress)]


def lead_until(step: int, repository: str, run: str) -> None:
    """Lead, and die in front of that step: each git command and each record on disk is one."""
    steps = count(1)

    def dying(effect: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **named: Any) -> Any:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return effect(*arguments, **named)

        return instead

    returns = Returns(Repository(Path(repository)), run)
    Git._once = dying(Git._once)  # type: ignore[method-assign]
    StateDirectory.publish = dying(StateDirectory.publish)  # type: ignore[method-assign]
    anyio.run(returns.bring_all_back)


def killed_at(step: int, returns: Returns) -> bool:
    """A lead of the next term was killed at that step; False when it had ended before."""
    lead = FORKS.Process(target=lead_until, args=(step, str(returns.repository.path), returns.run.id))
    lead.start()
    lead.join(30)
    assert lead.exitcode in {0, -signal.SIGKILL}
    return lead.exitcode != 0


def steps_of(returns: Callable[[str], Returns], first: int, every: int) -> list[Returns]:
    """One board for each step at which a lead was killed, taken over by the next lead."""
    boards = []
    for step in count(first, every):
        board = returns(f"step-{step}")
        if not killed_at(step, board):
            return boards
        board.take_lead()
        anyio.run(board.bring_all_back)
        boards.append(board)
    raise AssertionError


@pytest.mark.parametrize(("first", "every"), [*SHORT, *FULL])
def test_a_merge_that_was_cut_short_is_ended_once(tmp_path: Path, first: int, every: int) -> None:
    def waiting(name: str) -> Returns:
        board = Returns(Repository.create(tmp_path / name / "project", {"add.py": ""}))
        board.work("a")
        return board

    boards = steps_of(waiting, first, every)
    assert len(boards) >= 20 // every
    for board in boards:
        (task,) = board.lead.tasks.all()
        assert board.merges() == ["Merge Add a"]
        assert task.merged == board.repository.git("rev-parse", board.run.branch)
        assert board.on_branch() == ["a", "add.py"]
        assert [step.event for _, step in board.lead.tasks.history(task.id)].count("merge") == 1


@pytest.mark.parametrize(("first", "every"), [*SHORT[:1], *FULL])
def test_work_that_was_being_sent_back_is_on_the_board_once(tmp_path: Path, first: int, every: int) -> None:
    def clashing(name: str) -> Returns:
        board = Returns(Repository.create(tmp_path / name / "project", {"add.py": ""}))
        board.repository.git("branch", board.run.branch, board.repository.commit({"a": "1"}, parent="HEAD"))
        board.task("Build on it", blocked_by=(board.work("a", text="2").id,))
        return board

    boards = steps_of(clashing, first, every)
    assert len(boards) >= 20 // every
    for board in boards:
        clash, dependent, again = board.lead.tasks.all()
        assert (again.redo_of, again.status) == (clash.id, Status.PENDING)
        assert dependent.blocked_by == (clash.id, again.id)
        assert board.merges() == []
