"""The team's directories stay out of the person's sight, and no tracked file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.repository import Repository
from workspace.git import Git
from workspace.hiding import hide

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (".team", "mailboxes")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "project", {"a.py": "A = 1\n"})


@pytest.fixture
def git(repository: Repository) -> Git:
    return Git(repository.path)


def excludes(repository: Repository) -> list[str]:
    return (repository.path / ".git/info/exclude").read_text(encoding="utf-8").splitlines()


def test_what_lies_in_the_directories_is_not_shown(repository: Repository, git: Git) -> None:
    hide(git, repository.path, NAMES)
    repository.write({".team/team.json": "{}", "mailboxes/lead.jsonl": ""})
    assert repository.git("status", "--porcelain") == ""


def test_a_folder_of_that_name_further_down_is_the_persons(repository: Repository, git: Git) -> None:
    hide(git, repository.path, NAMES)
    repository.write({"src/mailboxes/code.py": ""})
    assert repository.git("status", "--porcelain") == "?? src/"


def test_each_line_is_there_once_and_what_was_there_stays(repository: Repository, git: Git) -> None:
    exclude = repository.path / ".git/info/exclude"
    exclude.write_text("# mine\n/mailboxes/\n*.log", encoding="utf-8")
    hide(git, repository.path, NAMES)
    hide(git, repository.path, NAMES)
    assert excludes(repository) == [
        "# mine",
        "/mailboxes/",
        "*.log",
        "# leadhand's team directories",
        "/.team/",
    ]


def test_a_repository_without_the_file_gets_one(repository: Repository, git: Git) -> None:
    (repository.path / ".git/info/exclude").unlink()
    (repository.path / ".git/info").rmdir()
    hide(git, repository.path, NAMES)
    assert excludes(repository)[1:] == ["/.team/", "/mailboxes/"]


def test_a_team_in_a_folder_of_the_repository_is_hidden_there(repository: Repository, git: Git) -> None:
    root = repository.path / "teams/one"
    root.mkdir(parents=True)
    hide(git, root, NAMES)
    assert "/teams/one/mailboxes/" in excludes(repository)


def test_a_team_elsewhere_changes_nothing(repository: Repository, git: Git, tmp_path: Path) -> None:
    before = excludes(repository)
    hide(git, tmp_path, NAMES)
    assert excludes(repository) == before


def test_a_worktree_of_the_person_hides_in_the_shared_file(repository: Repository, tmp_path: Path) -> None:
    other = tmp_path / "other"
    repository.git("worktree", "add", "--quiet", str(other))
    hide(Git(other), other, NAMES)
    repository.write({".team/team.json": "{}"}, at=other)
    assert repository.git("status", "--porcelain", at=other) == ""
