"""Trees for tasks: made all at once, proven before each use, collected without loss."""

from __future__ import annotations

import subprocess  # noqa: TID251 - five real processes at one moment
import sys
from typing import TYPE_CHECKING

import pytest

from workspace.git import UnknownCommit
from workspace.git_directory import WorktreeBroken
from workspace.worktrees import CannotCombine, WorktreeExists, WorktreeName, Worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.repository import Repository
    from workspace.git import Git

ONE_OF_FIVE = """
import sys
from pathlib import Path
from workspace.git import Git
from workspace.worktrees import Worktrees
root = Path(sys.argv[1])
git = Git(root)
print("ready", flush=True)
sys.stdin.readline()
path = Worktrees(git, root).create(sys.argv[2], base="HEAD")
(path / sys.argv[2]).write_text("work")
print(Worktrees(git, root).snapshot(path, message="Work", member="m", task=sys.argv[2]))
"""


def test_a_tree_is_detached_at_its_base_and_complete(repository: Repository, trees: Worktrees) -> None:
    path = trees.create("task-1", base=repository.head())
    assert path == repository.path / ".worktrees/task-1"
    assert (path / "add.py").exists()
    assert trees.head(path) == repository.head()
    assert trees.lease_problem(path, repository.head()) is None


def test_five_processes_make_five_trees_at_the_same_moment(repository: Repository) -> None:  # S17
    command = [sys.executable, "-c", ONE_OF_FIVE, str(repository.path)]
    five = [
        subprocess.Popen([*command, f"w{n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(5)
    ]
    for one in five:
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
    for one in five:
        assert one.stdin
        one.stdin.write("\n")
        one.stdin.flush()
    commits = {one.communicate()[0].strip() for one in five}
    assert [one.returncode for one in five] == [0] * 5
    assert len(commits) == 5
    assert repository.git("worktree", "list").count("(detached HEAD)") == 5
    assert repository.git("branch", "--list").split() == ["*", "main"]


def test_a_name_that_is_taken_is_refused_and_its_tree_left_alone(
    repository: Repository, trees: Worktrees
) -> None:  # S19
    path = trees.create("fix", base=repository.head())
    repository.write({"work": "in progress"}, at=path)
    with pytest.raises(WorktreeExists):
        trees.create("fix", base=repository.head())
    assert (path / "work").read_text() == "in progress"


def test_a_name_whose_folder_was_deleted_by_hand_is_still_taken(
    repository: Repository, trees: Worktrees
) -> None:
    path = trees.create("fix", base=repository.head())
    path.rename(repository.path / ".worktrees/elsewhere")
    with pytest.raises(WorktreeExists):
        trees.create("fix", base=repository.head())


@pytest.mark.parametrize("name", ["", "..", ".git", "a/b", "a b", "ä", "x" * 65])
def test_a_name_that_could_lead_elsewhere_is_refused(trees: Worktrees, name: str) -> None:
    with pytest.raises(WorktreeName):
        trees.create(name, base="HEAD")


def test_an_unknown_base_leaves_nothing_behind(repository: Repository, trees: Worktrees) -> None:
    with pytest.raises(UnknownCommit):
        trees.create("task-1", base="0" * 40)
    assert not (repository.path / ".worktrees/task-1").exists()


def test_work_of_other_tasks_is_brought_in(repository: Repository, trees: Worktrees) -> None:
    base = repository.head()
    one, two = repository.commit({"one": "1"}, parent=base), repository.commit({"two": "2"}, parent=base)
    path = trees.create("task-1", base=base, also=[one, two, base])
    assert {"one", "two"} <= {file.name for file in path.iterdir()}
    assert trees.lease_problem(path, base) is None
    assert repository.git("status", "--porcelain", at=path) == ""


def test_work_that_contradicts_itself_names_the_files_and_leaves_no_tree(
    repository: Repository, trees: Worktrees
) -> None:
    base = repository.head()
    one, two = repository.commit({"x": "1"}, parent=base), repository.commit({"x": "2"}, parent=base)
    with pytest.raises(CannotCombine, match="'x'"):
        trees.create("task-1", base=base, also=[one, two])
    assert not (repository.path / ".worktrees/task-1").exists()
    assert trees.create("task-1", base=base)


# the lease


@pytest.fixture
def tree(repository: Repository, trees: Worktrees) -> Path:
    return trees.create("task-1", base=repository.head())


def problem(trees: Worktrees, tree: Path, repository: Repository) -> str:
    return trees.lease_problem(tree, repository.head()) or ""


def test_a_removed_tree_is_no_place_to_work(trees: Worktrees, tree: Path, repository: Repository) -> None:
    repository.git("worktree", "remove", "--force", str(tree))
    assert "it is gone" in problem(trees, tree, repository)


def test_a_directory_in_place_of_the_tree_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    repository.git("worktree", "remove", "--force", str(tree))
    tree.mkdir()
    assert ".git file is missing" in problem(trees, tree, repository)


def test_a_link_in_place_of_the_tree_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    aside = tree.rename(tree.with_name("aside"))
    tree.symlink_to(aside)
    assert "it is a link" in problem(trees, tree, repository)


def test_a_git_file_that_names_another_repository_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    (tree / ".git").write_text(f"gitdir: {repository.path / '.git'}\n")
    assert "another repository" in problem(trees, tree, repository)


def test_a_git_file_that_names_another_tree_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    other = trees.create("task-2", base=repository.head())
    (tree / ".git").write_bytes((other / ".git").read_bytes())
    assert f"git lists it at {other}" in problem(trees, tree, repository)


def test_a_tree_that_git_no_longer_lists_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    (repository.path / ".git/worktrees/task-1/gitdir").unlink()
    assert "git no longer lists it" in problem(trees, tree, repository)


def test_a_tree_with_a_branch_checked_out_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    repository.git("checkout", "--quiet", "-b", "leadhand/mine", at=tree)
    assert "branch leadhand/mine is checked out" in problem(trees, tree, repository)


def test_a_head_off_the_base_is_no_place_to_work(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    orphan = repository.git("commit-tree", "HEAD^{tree}", "-m", "Other")
    repository.git("reset", "--hard", "--quiet", orphan, at=tree)
    assert "does not descend" in problem(trees, tree, repository)


@pytest.mark.parametrize("where", [".", ".worktrees", ".worktrees/.merge", ".worktrees/task-1/sub"])
def test_no_other_directory_passes_for_a_tree(
    trees: Worktrees, tree: Path, repository: Repository, where: str
) -> None:
    (tree / "sub").mkdir()
    assert "not a worktree of this team" in problem(trees, repository.path / where, repository)


def test_the_look_at_a_lease_starts_no_process(git: Git, tree: Path, repository: Repository) -> None:  # W32
    git._program = "/nowhere/git"
    assert Worktrees(git, repository.path).lease_problem(tree, repository.head()) is None


def test_the_last_commit_of_a_former_tree_is_known_as_long_as_it_stands(
    trees: Worktrees, tree: Path, repository: Repository
) -> None:
    assert trees.last_commit(".worktrees/task-1") == repository.head()
    repository.git("worktree", "remove", str(tree))
    assert trees.last_commit(".worktrees/task-1") is None


def test_eighty_trees_with_long_paths_are_all_known(git: Git, repository: Repository, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 80)
    for number in range(80):
        target = repository.path / f".git/worktrees/w{number}"
        target.mkdir(parents=True)
        (target / "HEAD").write_text(f"ref: refs/heads/b{number}\n")
        (target / "commondir").write_text("../..\n")
        (target / "gitdir").write_text(f"{deep / str(number)}/.git\n")
    assert git.checked_out_at("b79") == deep / "79"
    assert git.checked_out_at("main") == repository.path


def test_a_broken_tree_has_no_head(trees: Worktrees, repository: Repository) -> None:
    with pytest.raises(WorktreeBroken):
        trees.head(repository.path / ".worktrees/none")
