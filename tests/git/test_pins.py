"""The host's git stops as soon as what decides its programs has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workspace.git_directory import WorktreeBroken
from workspace.git_pins import GitChanged

if TYPE_CHECKING:
    from tests.support.repository import Repository
    from workspace.git import Git
    from workspace.worktrees import Worktrees


@pytest.mark.parametrize("name", ["config", "info/attributes", "hooks/pre-commit", "config.worktree"])
def test_a_change_of_what_decides_gits_programs_stops_the_host(
    git: Git, repository: Repository, name: str
) -> None:
    pinned = git.pinned()
    assert pinned.head() == repository.head()
    place = repository.path / ".git" / name
    before = place.read_text("utf-8") if place.exists() else ""
    place.write_text(before + "# planted\n", encoding="utf-8")
    for use in (pinned, pinned):
        with pytest.raises(GitChanged, match=f"{name} was changed"):
            use.head()
    place.write_text(before, encoding="utf-8") if before else place.unlink()
    assert pinned.head() == repository.head()


def test_git_in_a_tree_stops_with_that_of_the_repository(
    git: Git, repository: Repository, trees: Worktrees
) -> None:
    here = git.pinned().at(trees.create("task-1", base="HEAD"))
    repository.git("config", "alias.st", "!touch planted")
    repository.remember()
    with pytest.raises(GitChanged):
        here.uncommitted()


def test_a_file_that_was_written_again_as_it_was_is_no_change(git: Git, repository: Repository) -> None:
    pinned = git.pinned()
    config = repository.path / ".git" / "config"
    config.write_text(config.read_text("utf-8"), encoding="utf-8")
    assert pinned.head() == repository.head()


def test_a_tree_whose_git_file_names_another_repository_is_not_worked_in(
    git: Git, repository: Repository, trees: Worktrees
) -> None:
    tree = trees.create("task-1", base="HEAD")
    other = repository.path / "other"
    repository.git("init", "--quiet", str(other))
    (tree / ".git").write_text(f"gitdir: {other}/.git\n", encoding="utf-8")
    repository.remember()
    with pytest.raises(WorktreeBroken, match="names another repository"):
        git.at(tree)
    assert trees.lease_problem(tree, repository.head())
