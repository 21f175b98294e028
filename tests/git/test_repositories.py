"""Repositories as people have them: a task goes its whole way in each, or is refused with one clear line."""

from __future__ import annotations

import os
import shutil
import subprocess  # noqa: TID251 - the person's git, at one moment with others
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.child import tool_environment
from tests.support.hasty_clock import HastyClock
from tests.support.merging import merge, queue_with
from tests.support.repository import Repository
from workspace.checks import Verifier
from workspace.git import Git
from workspace.hiding import hide
from workspace.merge_queue import Merged
from workspace.opening import BranchInTheWay, ForeignRepository, open_repository
from workspace.submodules import SubmoduleEmpty
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BRANCH = "leadhand/run_1"
NUMBERS = count(1)


def whole_way(git: Git, files: Mapping[str, str | None], *, base: str = "HEAD", check: str = "true") -> str:
    """A tree for a task, the files written (None: deleted) in it, committed, checked, and merged.

    Returns the commit at the end of the run's branch.
    """
    root = git.place.tree
    hide(git, root, [layout.WORKTREES])
    trees = Worktrees(git, root)
    tree = trees.create(f"task-{next(NUMBERS)}", base=trees.newest(BRANCH, base))
    for name, text in files.items():
        if text is None:
            (tree / name).unlink()
        else:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text, encoding="utf-8")
    commit = trees.snapshot(tree, message="Change it", member="alice", task="task_1")
    trees.keep("leadhand/task_1/3", commit)
    verifier = Verifier(git, root / ".worktrees/.merge-1", tool_environment())
    outcome = merge(queue_with(git, verifier, base=base), commit, check)
    assert isinstance(outcome, Merged), outcome
    return outcome.commit


# the state of the checkout


def test_a_dirty_tree_stays_as_it_is_and_what_is_not_seen_is_listed(repository: Repository, git: Git) -> None:
    # S25
    repository.write({"add.py": "mine, half done\n", "new file": "mine\n", "staged": "s\n"})
    repository.git("add", "staged")
    repository.remember()
    commit = whole_way(git, {"add.py": "theirs\n"}, check="! test -e 'new file' && ! test -e staged")
    assert repository.git("show", f"{commit}:add.py") == "theirs"
    assert set(git.uncommitted()) == {"add.py", "new file", "staged"}


def test_a_detached_head_is_where_the_run_starts(repository: Repository, git: Git) -> None:
    older = repository.head()
    repository.write({"later": ""})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "-m", "Later")
    repository.git("checkout", "--quiet", "--detach", older)
    repository.remember()
    commit = whole_way(git, {"new": "n\n"})
    assert repository.git("ls-tree", "--name-only", commit).split() == ["add.py", "new"]


def test_a_run_is_started_from_a_directory_inside_with_odd_names(tmp_path: Path) -> None:
    made = Repository.create(tmp_path / "die größte $HOME 1", {"größte dir/a.py": "", "b": ""})
    git = open_repository(made.path / "größte dir")
    commit = whole_way(
        git, {"größte dir/ü ñ.py": "x\n", "größte dir/a.py": "y\n"}, check="test -s 'größte dir/ü ñ.py'"
    )
    assert made.git("show", f"{commit}:größte dir/ü ñ.py") == "x"
    made.git("config", "core.quotePath", "true")
    assert made.git("status", "--porcelain", "--", "b", "größte dir") == ""


@pytest.mark.parametrize("operation", ["merge", "rebase"])
def test_an_operation_in_progress_is_the_persons_to_end(
    repository: Repository, git: Git, operation: str
) -> None:
    other = repository.commit({"add.py": "theirs\n"}, parent=repository.head())
    repository.write({"add.py": "ours\n"})
    repository.git("commit", "--quiet", "--all", "-m", "Ours")
    with pytest.raises(subprocess.CalledProcessError):
        repository.git(operation, other)
    before = repository.git("status")
    repository.remember()
    whole_way(git, {"new": ""})
    assert repository.git("status") == before


def test_a_stale_lock_of_the_persons_index_is_no_obstacle(repository: Repository, git: Git) -> None:
    lock = repository.path / ".git/index.lock"
    lock.touch()
    whole_way(git, {"new": ""})
    assert git.uncommitted() == ()
    assert lock.exists()
    lock.unlink()


def test_a_stale_lock_in_a_tree_of_a_task_is_removed_after_the_patience(repository: Repository) -> None:
    git = Git(repository.path, clock=HastyClock())
    trees = Worktrees(git, repository.path)
    tree = trees.create("task-0", base="HEAD")
    (git.at(tree).place.own / "index.lock").touch()
    (tree / "new").touch()
    commit = trees.snapshot(tree, message="x", member="alice", task="task_1")
    assert "new" in repository.git("ls-tree", "--name-only", commit).split()


def test_a_tree_whose_folder_was_deleted_by_hand_blocks_no_other(repository: Repository, git: Git) -> None:
    whole_way(git, {"new": ""})
    shutil.rmtree(repository.path / ".worktrees")
    whole_way(git, {"other": ""})


# how the repository was made


def test_a_shallow_clone_is_worked_in(repository: Repository, tmp_path: Path) -> None:
    for number in range(3):
        repository.write({"count": str(number)})
        repository.git("add", "--all")
        repository.git("commit", "--quiet", "-m", str(number))
    repository.remember()
    repository.git("clone", "--quiet", "--depth", "1", f"file://{repository.path}", str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    git = open_repository(clone.path)
    for name in ("one", "two"):
        whole_way(git, {name: ""})
    assert clone.git("rev-list", "--count", "HEAD") == "1"
    assert clone.git("ls-tree", "--name-only", BRANCH).split() == ["add.py", "count", "one", "two"]


def test_ids_of_the_longer_kind_are_worked_with(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    made = Repository(tmp_path / "project")
    made.git("init", "--quiet", "--object-format=sha256")
    made.git("commit", "--quiet", "--allow-empty", "-m", "Start")
    commit = whole_way(open_repository(made.path), {"new": ""})
    assert len(commit) == 64


def test_a_sparse_checkout_hands_in_what_is_written_outside_of_it(repository: Repository, git: Git) -> None:
    repository.write({"in/a": "1\n", "out/b": "1\n"})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "-m", "Two directories")
    repository.git("sparse-checkout", "set", "in")
    repository.remember()
    commit = whole_way(git, {"in/a": "2\n", "out/c": "new\n", "elsewhere/d": "new\n"})
    assert repository.git("ls-tree", "-r", "--name-only", commit).split() == [
        "add.py",
        "elsewhere/d",
        "in/a",
        "out/b",
        "out/c",
    ]
    assert not (repository.path / "out").exists()


def test_line_endings_of_another_system_are_kept(repository: Repository, git: Git) -> None:
    repository.git("config", "core.autocrlf", "true")
    repository.remember()
    whole_way(git, {"add.py": "x = 1\r\ny = 2\r\n"})
    commit = whole_way(git, {"other.py": "z\n"})
    assert repository.git("cat-file", "-p", f"{commit}:add.py").split() == ["x", "=", "1", "y", "=", "2"]


def test_names_that_differ_only_in_case_are_worked_with_where_the_disk_has_both(
    repository: Repository, git: Git
) -> None:
    whole_way(git, {"Readme": "1\n"})
    commit = whole_way(git, {"README": "2\n"})
    assert repository.git("ls-tree", "--name-only", commit).split() == ["README", "Readme", "add.py"]


# submodules, nested repositories, large files


@pytest.fixture
def with_submodule(repository: Repository, tmp_path: Path) -> Repository:
    library = Repository.create(tmp_path / "library", {"lib.py": "x = 1\n"})
    allowed = ("-c", "protocol.file.allow=always")
    repository.git(*allowed, "submodule", "--quiet", "add", str(library.path), "lib")
    repository.git("commit", "--quiet", "-m", "Use the library")
    repository.remember()
    return repository


def test_a_submodule_stays_at_its_commit_and_is_empty_in_a_tree(with_submodule: Repository, git: Git) -> None:
    commit = whole_way(git, {"add.py": "y\n"}, check='test -d lib && test -z "$(ls lib)"')
    listed = with_submodule.git("ls-tree", commit, "lib")
    assert listed.startswith("160000 commit ")
    assert listed == with_submodule.git("ls-tree", "HEAD", "lib")


def test_files_written_where_a_submodule_belongs_are_refused(with_submodule: Repository, git: Git) -> None:
    with pytest.raises(SubmoduleEmpty, match="lib is a submodule"):
        whole_way(git, {"lib/new.py": "lost otherwise\n"})
    assert with_submodule.head()


def test_a_submodule_that_the_setup_filled_hands_in_its_new_commit(
    with_submodule: Repository, git: Git
) -> None:
    trees = Worktrees(git, with_submodule.path)
    tree = trees.create("task-0", base="HEAD")
    with_submodule.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", at=tree
    )
    assert git.at(tree).uncommitted() == ()
    commit = trees.snapshot(tree, message="x", member="alice", task="task_1")
    assert commit == with_submodule.head()


def test_a_repository_inside_the_checkout_is_not_the_teams(repository: Repository, git: Git) -> None:
    inner = Repository.create(repository.path / "vendor/inner", {"i": ""})
    repository.remember()
    whole_way(git, {"new": ""}, check="! test -e vendor")
    assert open_repository(inner.path).place.tree == inner.path


needs_lfs = pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")


@needs_lfs
def test_large_files_are_checked_out_and_handed_in_by_the_persons_own_filter(
    repository: Repository, git: Git
) -> None:
    repository.git("lfs", "install", "--skip-repo")
    repository.write({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": "large\n"})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "-m", "Large files")
    repository.remember()
    commit = whole_way(git, {"b.bin": "new and large\n"}, check="grep -q '^large' a.bin && grep -q new b.bin")
    assert repository.git("cat-file", "-p", f"{commit}:b.bin").startswith("version https://git-lfs")
    assert "b.bin" in repository.git("lfs", "ls-files", commit)


@needs_lfs
def test_a_person_without_the_filter_has_pointers_and_so_has_the_team(
    repository: Repository, git: Git
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1\n"
    repository.write({".gitattributes": "*.bin filter=lfs -text\n", "a.bin": pointer})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "-m", "Pointers")
    repository.remember()
    whole_way(git, {"new": ""}, check="grep -q git-lfs a.bin")


# who the person is


def test_commits_are_never_signed_and_need_no_address(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in (
        *(("commit.gpgsign", "true"), ("tag.gpgsign", "true"), ("gpg.program", "/nowhere/gpg")),
        *(("user.useConfigOnly", "true"), ("core.editor", "/nowhere/editor")),
    ):
        repository.git("config", key, value)
    repository.remember()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    commit = whole_way(git, {"new": ""})
    assert (
        repository.git("log", "--format=%ae %G?", f"HEAD..{commit}").split("\n")
        == ["person@leadhand.invalid N"] * 2
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_repository_of_another_user_is_refused_until_git_is_told_to_trust_it(
    repository: Repository,
) -> None:
    os.chown(repository.path, 4711, -1)
    with pytest.raises(ForeignRepository, match=r"git config --global --add safe\.directory"):
        open_repository(repository.path)
    repository.git(
        "config", "--global", "--add", "safe.directory", str(repository.path), at=repository.path.parent
    )
    whole_way(open_repository(repository.path), {"new": ""})
    os.chown(repository.path, 0, -1)


# branches


@pytest.mark.parametrize("branch", ["leadhand", "LEADHAND"])
def test_a_branch_in_the_way_of_the_teams_is_refused_with_the_way_out(
    repository: Repository, branch: str
) -> None:
    repository.git("branch", branch)
    if branch == "leadhand":
        with pytest.raises(BranchInTheWay, match="git branch -m leadhand NEWNAME"):
            open_repository(repository.path)
    else:
        open_repository(repository.path)
    repository.git("branch", "-D", branch)


# size and contention

ADDS = """
import sys
from pathlib import Path
from workspace.git import Git
git = Git(Path(sys.argv[1])).at(Path(sys.argv[2]))
sys.stdin.readline()
for n in range(5):
    (git.place.tree / f"{sys.argv[3]}-{n}").touch()
    git.run("add", "--all")
"""


def test_nobody_fails_because_others_write_the_same_index(repository: Repository, git: Git) -> None:
    # S23
    tree = Worktrees(git, repository.path).create("task-0", base="HEAD")
    four = [
        subprocess.Popen(
            [sys.executable, "-c", ADDS, str(repository.path), str(tree), str(n)],
            stdin=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    for one in four:
        one.communicate("\n")
    assert [one.returncode for one in four] == [0] * 4
    assert len(repository.git("diff", "--cached", "--name-only", at=tree).split()) == 20


@pytest.mark.parametrize("files", [2000, pytest.param(20_000, marks=pytest.mark.stress)])
def test_a_repository_of_many_files_is_worked_in(repository: Repository, git: Git, files: int) -> None:
    lines = ["commit refs/heads/main", "committer P <p@example.org> 0 +0000", "data 1", "x"]
    lines.append(f"from {repository.head()}")
    for number in range(files):
        lines += [f"M 644 inline d{number % 100}/f{number}", "data 2", str(number % 10), ""]
    repository.git("fast-import", "--quiet", "--force", given="\n".join(lines) + "\n")
    repository.git("reset", "--quiet", "--hard")
    repository.remember()
    assert git.uncommitted() == ()
    whole_way(git, {"d1/f1": "changed\n", "d2/new": ""})
    commit = whole_way(git, {"d1/f1": "changed\nagain\n"})
    assert int(repository.git("rev-list", "--count", f"HEAD..{commit}")) == 4
