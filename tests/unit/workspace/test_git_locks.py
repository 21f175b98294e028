"""A lock is waited for; only what a dead git of ours left behind is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workspace.git_locks import PATIENCE_SECONDS, LockWatch

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clock import FakeClock


def says(lock: Path, why: str = "File exists") -> str:
    return f"fatal: Unable to create '{lock}': {why}.\n\nAnother git process seems to be running"


@pytest.fixture
def common(tmp_path: Path) -> Path:
    for place in ("worktrees/task-1", "refs/heads/leadhand", "refs/heads/main"):
        (tmp_path / ".git" / place).mkdir(parents=True)
    return tmp_path / ".git"


@pytest.mark.parametrize(
    "stderr",
    [
        "",
        "fatal: bad revision",
        "cannot lock ref 'refs/heads/x': is at 3d6d959 but expected 85b8a45",
        "cannot lock ref 'refs/heads/x': reference already exists",
    ],
)
def test_another_failure_is_no_reason_to_try_again(common: Path, clock: FakeClock, stderr: str) -> None:
    assert not LockWatch(common, clock).worth_another_try(stderr)


def test_a_lock_is_worth_another_try_within_the_patience(common: Path, clock: FakeClock) -> None:
    watch = LockWatch(common, clock)
    assert watch.worth_another_try(says(common / "index.lock"))
    assert watch.worth_another_try("error: could not lock config file .git/config: File exists")
    assert watch.worth_another_try(says(common / "index.lock", "Operation not permitted"))  # on SSHFS
    clock.advance(PATIENCE_SECONDS)
    assert not watch.worth_another_try(says(common / "index.lock"))


@pytest.mark.parametrize("place", ["worktrees/task-1/index.lock", "refs/heads/leadhand/run_1.lock"])
def test_a_lock_of_ours_that_never_changed_is_removed_once(
    common: Path, clock: FakeClock, place: str
) -> None:
    lock = common / place
    lock.touch()
    watch = LockWatch(common, clock)
    assert watch.worth_another_try(says(lock))
    clock.advance(PATIENCE_SECONDS)
    assert watch.worth_another_try(says(lock))
    assert not lock.exists()
    assert not watch.worth_another_try(says(lock))


@pytest.mark.parametrize("place", ["index.lock", "HEAD.lock", "refs/heads/main/x.lock", "packed-refs.lock"])
def test_a_lock_of_the_person_is_never_removed(common: Path, clock: FakeClock, place: str) -> None:
    lock = common / place
    lock.touch()
    watch = LockWatch(common, clock)
    clock.advance(PATIENCE_SECONDS)
    assert not watch.worth_another_try(says(lock))
    assert lock.exists()


def test_a_lock_that_changed_hands_is_held_by_somebody_alive(common: Path, clock: FakeClock) -> None:
    lock = common / "worktrees/task-1/index.lock"
    lock.touch()
    watch = LockWatch(common, clock)
    watch.worth_another_try(says(lock))
    lock.rename(common / "done")
    lock.touch()
    clock.advance(PATIENCE_SECONDS)
    assert not watch.worth_another_try(says(lock))
    assert lock.exists()


def test_a_registration_that_was_finished_meanwhile_is_not_removed(common: Path, clock: FakeClock) -> None:
    ours = common / "worktrees/task-1/commondir"
    ours.write_text("../..\n")
    watch = LockWatch(common, clock)
    clock.advance(PATIENCE_SECONDS)
    assert watch.worth_another_try(f"fatal: failed to read {ours}: Success")
    assert ours.exists()
