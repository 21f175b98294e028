"""All work of a tree ends in a commit, and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workspace.worktrees import NestedRepository, Worktrees

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.repository import Repository


@pytest.fixture
def tree(repository: Repository, trees: Worktrees) -> Path:
    return trees.create("task-1", base=repository.head())


def take(trees: Worktrees, tree: Path) -> str:
    return trees.snapshot(tree, message="Fix the sum", member="alice", task="task_1")


def files(repository: Repository, commit: str) -> set[str]:
    return set(repository.git("ls-tree", "-r", "--name-only", commit).split("\n"))


def test_new_changed_and_deleted_files_are_in_the_commit(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.write({"new.py": "", "deep/er.py": ""}, at=tree)
    (tree / "add.py").unlink()
    assert files(repository, take(trees, tree)) == {"new.py", "deep/er.py"}
    assert repository.git("status", "--porcelain", at=tree) == ""


def test_the_member_is_the_author_at_the_persons_address_and_the_task_is_named(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.write({"new.py": ""}, at=tree)
    commit = take(trees, tree)
    assert repository.git("log", "-1", "--format=%an <%ae>", commit) == "alice <pat@example.org>"
    assert repository.git("log", "-1", "--format=%B", commit) == "Fix the sum\n\nLeadhand-Task: task_1"


def test_without_an_address_of_the_person_one_is_used_that_cannot_exist(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.git("config", "--global", "--unset", "user.email")
    repository.write({"new.py": ""}, at=tree)
    assert repository.git("log", "-1", "--format=%ae", take(trees, tree)) == "person@leadhand.invalid"
    repository.git("config", "--global", "user.email", "pat@example.org")


def test_without_a_change_the_commit_is_the_base(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    assert take(trees, tree) == repository.head()


def test_commits_that_the_worker_made_itself_are_kept(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.git("commit", "--quiet", "--allow-empty", "--message", "Mine", at=tree)
    assert repository.git("log", "-1", "--format=%s", take(trees, tree)) == "Mine"


@pytest.mark.parametrize(
    "left", ["__pycache__/a.pyc", ".venv/bin/python", ".DS_Store", ".env", "x/node_modules/y.js", "a.swp"]
)
def test_what_tools_leave_behind_is_not_handed_in(
    repository: Repository, trees: Worktrees, tree: Path, left: str
) -> None:
    repository.write({left: "x"}, at=tree)
    assert take(trees, tree) == repository.head()


def test_what_the_person_never_commits_is_not_handed_in(
    repository: Repository, trees: Worktrees, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "ignore").write_text("*.notes\n")
    repository.git("config", "--global", "core.excludesFile", str(tmp_path / "ignore"))
    repository.write({"my.notes": "", "__pycache__/a.pyc": ""}, at=tree)
    assert take(trees, tree) == repository.head()


def test_a_tracked_file_is_handed_in_whatever_its_name(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.write({".env": "a"}, at=tree)
    repository.git("add", "--force", ".env", at=tree)
    repository.write({".env": "b"}, at=tree)
    assert repository.git("show", f"{take(trees, tree)}:.env") == "b"


def test_no_branch_moves_even_if_the_worker_checked_one_out(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.git("branch", "feature")
    repository.git("checkout", "--quiet", "feature", at=tree)
    repository.remember()  # the fixture proves that `feature` stays
    repository.write({"new.py": ""}, at=tree)
    assert "new.py" in files(repository, take(trees, tree))


def test_a_half_merge_that_the_worker_left_is_in_the_commit(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    base = repository.head()
    other = repository.commit({"add.py": "theirs"}, parent=base)
    repository.write({"add.py": "ours"}, at=tree)
    take(trees, tree)
    with pytest.raises(Exception, match="merge"):
        repository.git("merge", other, at=tree)
    commit = take(trees, tree)
    assert "<<<<<<<" in repository.git("show", f"{commit}:add.py")
    assert repository.git("status", "--porcelain", at=tree) == ""


@pytest.mark.parametrize("has_commit", [False, True])
def test_a_repository_inside_the_tree_is_named_and_not_swallowed(
    repository: Repository, trees: Worktrees, tree: Path, *, has_commit: bool
) -> None:
    inner = tree / "vendor" / "inner"
    repository.write({"x": "x"}, at=inner)
    repository.git("init", "--quiet", at=inner)
    if has_commit:
        repository.git("add", "--all", at=inner)
        repository.git("commit", "--quiet", "--message", "Inner", at=inner)
    with pytest.raises(NestedRepository, match="vendor/inner"):
        take(trees, tree)


@pytest.mark.parametrize("message", ["", "-m", "# only a comment", "ä\ud800\n\n\nlong", "x" * 5000])
def test_any_message_makes_a_commit(
    repository: Repository, trees: Worktrees, tree: Path, message: str
) -> None:
    repository.write({"new.py": ""}, at=tree)
    commit = trees.snapshot(tree, message=message, member="alice", task="task_1")
    assert repository.git("log", "-1", "--format=%(trailers:key=Leadhand-Task,valueonly)", commit) == "task_1"


def test_the_branch_of_a_task_follows_its_work(repository: Repository, trees: Worktrees) -> None:
    first = repository.commit({"a": "1"}, parent=repository.head())
    second = repository.commit({"a": "2"}, parent=first)
    trees.keep("leadhand/task_1/3", first)
    trees.keep("leadhand/task_1/3", second)
    trees.keep("leadhand/task_1/3", second)
    assert repository.git("for-each-ref", "--format=%(refname:short)", "refs/heads/leadhand") == (
        "leadhand/task_1/3"
    )


def test_work_that_a_later_commit_does_not_hold_keeps_a_branch(
    repository: Repository, trees: Worktrees
) -> None:
    base = repository.head()
    first, second = repository.commit({"a": "1"}, parent=base), repository.commit({"a": "2"}, parent=base)
    trees.keep("leadhand/task_1/3", first)
    trees.keep("leadhand/task_1/3", second)
    assert repository.git("rev-parse", "leadhand/task_1/3") == second
    assert repository.git("rev-parse", f"leadhand/task_1/3-{first[:10]}") == first


def test_the_difference_is_told_per_file(repository: Repository, trees: Worktrees) -> None:
    commit = repository.commit({"a": "1\n"}, parent=repository.head())
    assert trees.diff_stat(repository.head(), commit).splitlines()[-1].strip() == (
        "1 file changed, 1 insertion(+)"
    )
