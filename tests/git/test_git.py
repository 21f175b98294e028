"""Git for the host: what it opens, what it refuses, what it never runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.hasty_clock import HastyClock
from tests.support.repository import Repository
from workspace.git import Git, GitError, GitMissing, NoCommitYet, UnknownCommit
from workspace.git_directory import NotARepository
from workspace.git_locks import PATIENCE_SECONDS
from workspace.opening import GitTooOld, open_repository
from workspace.worktrees import Worktrees


def test_a_repository_is_found_from_a_directory_inside_it(repository: Repository) -> None:
    inside = repository.path / "deep" / "er"
    inside.mkdir(parents=True)
    assert open_repository(inside).place.tree == repository.path


@pytest.mark.parametrize("inside", ["", "missing"])
def test_what_is_no_repository_is_refused_with_the_next_step(tmp_path: Path, inside: str) -> None:
    with pytest.raises(NotARepository, match="git init"):
        open_repository(tmp_path / inside)


def test_a_bare_repository_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    with pytest.raises(NotARepository):
        open_repository(tmp_path / "bare")


def test_a_repository_without_a_commit_is_refused_with_the_next_step(tmp_path: Path) -> None:
    # S21
    Repository(tmp_path).git("init", "--quiet")
    with pytest.raises(NoCommitYet, match="--allow-empty"):
        open_repository(tmp_path)


def test_a_linked_worktree_of_the_person_can_be_the_repository(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    opened = open_repository(tmp_path / "linked")
    assert opened.place.common == repository.path / ".git"
    assert opened.head() == repository.head()


def test_a_git_inside_the_repository_is_never_run(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    assert real
    planted = repository.path / "bin"
    planted.mkdir()
    (planted / "git").write_bytes(b"#!/bin/sh\nexit 0\n")
    (planted / "git").chmod(0o755)
    repository.remember()
    monkeypatch.setenv("PATH", f"{planted}:{os.path.dirname(real)}")  # noqa: PTH120 - a PATH entry
    with pytest.raises(GitMissing):
        Git(repository.path)
    (repository.path / "elsewhere").mkdir()
    with pytest.raises(GitMissing):
        open_repository(repository.path / "elsewhere")
    monkeypatch.setenv("PATH", os.path.dirname(real))  # noqa: PTH120 - likewise, for the fixture


def test_a_directory_that_holds_git_itself_is_only_no_repository() -> None:
    with pytest.raises(NotARepository):
        open_repository(Path("/"))


def test_a_git_that_cannot_merge_on_the_side_is_refused_with_the_version_it_takes(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "git").write_bytes(b"#!/bin/sh\necho git version 2.34.1\n")
    (old / "git").chmod(0o755)
    with monkeypatch.context() as older:
        older.setenv("PATH", f"{old}:{os.environ['PATH']}")
        with pytest.raises(GitTooOld, match=r"2\.34\.1 .* 2\.39"):
            open_repository(repository.path)


@pytest.mark.parametrize("name", ["nothing", "--all", "-h", "0" * 40, "main:add.py"])
def test_a_name_that_leads_to_no_commit_is_refused(git: Git, name: str) -> None:
    with pytest.raises(UnknownCommit):
        git.commit_of(name)


def test_uncommitted_paths_are_listed_without_touching_the_index(repository: Repository, git: Git) -> None:
    repository.write({"add.py": "changed", "näw file.py": ""})
    os.utime(repository.path / "add.py", (1, 1))
    repository.remember()
    assert git.uncommitted() == ("add.py", "näw file.py")


def test_a_failure_names_command_status_and_what_git_said(git: Git) -> None:
    with pytest.raises(GitError, match=r"git cat-file failed with status 128: .*Not a valid object"):
        git.run("cat-file", "-t", "nothing")


def test_the_environment_of_the_caller_cannot_redirect_git(
    git: Git, repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = Repository.create(tmp_path / "other", {"x": "x"})
    head = repository.head()
    with monkeypatch.context() as caller:
        caller.setenv("GIT_DIR", str(other.path / ".git"))
        caller.setenv("GIT_OBJECT_DIRECTORY", str(other.path / ".git/objects"))
        assert git.head() == head


def test_a_branch_moves_only_from_where_it_was_seen(git: Git, repository: Repository) -> None:
    first = repository.head()
    second = repository.commit({"a": "a"}, parent=first)
    assert git.move_branch("leadhand/x", first, None)
    assert not git.move_branch("leadhand/x", second, None)
    assert not git.move_branch("leadhand/x", second, second)
    assert git.move_branch("leadhand/x", second, first)
    assert git.tip("leadhand/x") == second


def test_a_branch_lock_of_a_killed_git_is_removed_after_the_patience(repository: Repository) -> None:
    clock = HastyClock()
    lock = repository.path / ".git/refs/heads/leadhand/x.lock"
    lock.parent.mkdir()
    lock.touch()
    assert Git(repository.path, clock=clock).move_branch("leadhand/x", repository.head(), None)
    assert clock.monotonic() >= 1000 + PATIENCE_SECONDS


def test_a_lock_of_the_person_is_waited_for_and_never_removed(repository: Repository) -> None:
    clock = HastyClock()
    lock = repository.path / ".git/refs/heads/other.lock"
    lock.touch()
    with pytest.raises(GitError, match="File exists"):
        Git(repository.path, clock=clock).move_branch("other", repository.head(), None)
    assert clock.monotonic() >= 1000 + PATIENCE_SECONDS
    assert lock.exists()


def test_a_registration_that_a_killed_git_began_blocks_nobody_for_ever(repository: Repository) -> None:
    began = repository.path / ".git/worktrees/began"
    began.mkdir(parents=True)
    for name, text in (("locked", "initializing"), ("gitdir", "/nowhere/.git\n"), ("commondir", "")):
        (began / name).write_text(text)
    trees = Worktrees(Git(repository.path, clock=HastyClock()), repository.path)
    assert trees.create("task-1", base=repository.head()).is_dir()
    assert not began.exists()


class ReleasingClock(FakeClock):
    """Somebody gives the lock back while we wait."""

    def __init__(self, lock: Path) -> None:
        super().__init__()
        self._lock = lock

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._lock.unlink(missing_ok=True)


def test_a_command_is_tried_again_while_another_git_holds_the_lock(repository: Repository) -> None:
    lock = repository.path / ".git/refs/heads/leadhand/x.lock"
    lock.parent.mkdir()
    lock.touch()
    clock = ReleasingClock(lock)
    assert Git(repository.path, clock=clock).move_branch("leadhand/x", repository.head(), None)
    assert clock.monotonic() < 1001


def test_what_git_says_on_several_lines_is_told_on_one(git: Git) -> None:
    with pytest.raises(GitError) as failed:
        git.run("checkout", "--quiet", "--no-such-option")
    assert len(str(failed.value).splitlines()) == 1
    assert "no-such-option" in str(failed.value)
