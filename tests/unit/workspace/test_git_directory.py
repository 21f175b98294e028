"""What git's files say is read with care: a worker can write some of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from workspace.git_directory import (
    GitDirectory,
    NotARepository,
    WorktreeBroken,
    detached_head,
    locate,
    registered,
)

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "a" * 40


@pytest.fixture
def main(tmp_path: Path) -> Path:
    top = tmp_path / "main"
    (top / ".git/objects").mkdir(parents=True)
    return top


@pytest.fixture
def linked(main: Path, tmp_path: Path) -> Path:
    tree, own = tmp_path / "linked", main / ".git/worktrees/linked"
    tree.mkdir()
    own.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{tree}/.git\n")
    (own / "commondir").write_text("../..\n")
    (own / "HEAD").write_text(f"{COMMIT}\n")
    return tree


def test_the_main_checkout_has_one_directory_for_everything(main: Path) -> None:
    assert locate(main) == GitDirectory(tree=main, own=main / ".git", common=main / ".git")


def test_a_linked_checkout_has_its_own_and_shares_the_rest(main: Path, linked: Path) -> None:
    expected = GitDirectory(tree=linked, own=main / ".git/worktrees/linked", common=main / ".git")
    assert locate(linked) == registered(main / ".git", linked) == expected


def test_links_between_the_two_may_be_relative(main: Path, linked: Path) -> None:
    own = main / ".git/worktrees/linked"
    (linked / ".git").write_text(f"gitdir: {os.path.relpath(own, linked)}\n")
    (own / "gitdir").write_text(f"{os.path.relpath(linked / '.git', own)}\n")
    assert registered(main / ".git", linked).own == own


@pytest.mark.parametrize("content", ["", "nothing", "gitdir: /nowhere", "gitdir: a\ngitdir: b", "gitdir: \0"])
def test_a_damaged_git_file_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    with pytest.raises(NotARepository):
        locate(tmp_path)


@pytest.mark.parametrize("content", [b"", b"nothing", b"\xff\xfe", b"gitdir: \0", b"gitdir: x\ny"])
def test_a_damaged_git_file_is_no_worktree(main: Path, linked: Path, content: bytes) -> None:
    (linked / ".git").write_bytes(content)
    with pytest.raises(WorktreeBroken, match="missing or damaged"):
        registered(main / ".git", linked)


def test_a_pipe_in_place_of_the_git_file_holds_nobody_up(main: Path, linked: Path) -> None:
    (linked / ".git").unlink()
    os.mkfifo(linked / ".git")
    with pytest.raises(WorktreeBroken):
        registered(main / ".git", linked)


def test_the_head_is_the_commit(main: Path, linked: Path) -> None:
    assert detached_head(registered(main / ".git", linked)) == COMMIT


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("ref: refs/heads/feature/x", "branch feature/x is checked out"),
        ("", "HEAD cannot be read"),
        ("garbage", "its HEAD is damaged"),
    ],
)
def test_a_head_that_is_no_commit_is_told(main: Path, linked: Path, content: str, why: str) -> None:
    (main / ".git/worktrees/linked/HEAD").write_text(content)
    with pytest.raises(WorktreeBroken, match=why):
        detached_head(registered(main / ".git", linked))
