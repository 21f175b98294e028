"""Checks prove a commit, not a directory; whatever they do, they end."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from coordination.process import start_mark
from workspace.checks import ChecksInterrupted, TreeMoved, Verifier, passed
from workspace.git import UnknownCommit

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.records import CheckResult
    from tests.support.repository import Repository
    from workspace.git import Git

IGNORES_TERM = (
    "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo $! > {0}; while :; do :; done"
)


def one(verifier: Verifier, commit: str, command: str, timeout_seconds: float = 20) -> CheckResult:
    (result,) = verifier.verify(commit, {"check": command}, timeout_seconds, task="task_1")
    return result


def test_checks_run_on_the_commit_and_not_on_what_lies_in_the_checkout(
    repository: Repository, verifier: Verifier
) -> None:
    commit = repository.commit({"new.py": "x = 1\n"}, parent=repository.head())
    repository.write({"uncommitted.py": ""})
    assert one(verifier, commit, "ls").output.split() == ["add.py", "new.py"]
    (repository.path / "uncommitted.py").unlink()


def test_every_check_is_run_and_reported_in_order(repository: Repository, verifier: Verifier) -> None:
    checks = {"red": "echo no >&2; exit 3", "green": "echo yes"}
    red, green = verifier.verify(repository.head(), checks, 20)
    assert (red.name, red.command, red.exit_code, red.output) == ("red", checks["red"], 3, "no")
    assert (green.exit_code, green.output) == (0, "yes")
    assert not passed([red, green])
    assert passed([green])


def test_no_checks_need_no_tree(repository: Repository, verifier: Verifier) -> None:
    assert verifier.verify(repository.head(), {}, 20) == ()
    assert not (repository.path / ".worktrees").exists()


def test_an_unknown_commit_is_refused(verifier: Verifier) -> None:
    with pytest.raises(UnknownCommit):
        verifier.verify("0" * 40, {"check": "true"}, 20)


def test_a_check_gets_the_listed_environment_and_its_place(git: Git, repository: Repository) -> None:
    tree = repository.path / ".worktrees/.verify/alice"
    verifier = Verifier(git, tree, {"PATH": os.environ["PATH"], "GIVEN": "1"})
    lines = dict(
        line.split("=", 1) for line in one(verifier, "HEAD", "env; pwd >&2").output.splitlines()[:-1]
    )
    assert lines["LEADHAND_WORKTREE"] == lines["PWD"] == str(tree)
    assert lines["LEADHAND_TASK"] == "task_1"
    assert lines["GIVEN"] == "1"
    assert "HOME" not in lines


def test_the_next_commit_sees_nothing_of_the_one_before(repository: Repository, verifier: Verifier) -> None:
    base = repository.head()
    other = repository.commit({"only_there.py": ""}, parent=base)
    assert one(verifier, other, "echo x > left.py; mkdir -p d/e; echo x > d/e/f; git init -q d/e; rm add.py")
    assert one(verifier, base, "find . -name .git -prune -o -type f -print").output == "./add.py"


def test_what_git_ignores_stays_so_that_an_environment_is_set_up_once(
    repository: Repository, verifier: Verifier
) -> None:
    commit = repository.commit({".gitignore": ".venv/\n"}, parent=repository.head())
    one(verifier, commit, "mkdir .venv && touch .venv/installed")
    assert one(verifier, commit, "ls .venv").output == "installed"


def test_compiled_code_of_another_commit_is_never_run(repository: Repository, verifier: Verifier) -> None:
    base = repository.commit({".gitignore": "__pycache__/\n"}, parent=repository.head())
    compiled = "mkdir -p __pycache__ deep/__pycache__; touch __pycache__/add.pyc deep/__pycache__/x.pyc"
    one(verifier, base, compiled)
    assert one(verifier, base, "find . -name '*.pyc'; python3 -c 'import add'; ls -d __pycache__").output == (
        "ls: cannot access '__pycache__': No such file or directory"
    )


@pytest.mark.parametrize(
    "damage",
    [
        "rm .git",
        "echo 'gitdir: /nowhere' > .git",
        "git checkout -q -b mine",
        "touch $(git rev-parse --git-dir)/HEAD.broken; echo x > $(git rev-parse --git-dir)/HEAD",
        "rm $(git rev-parse --git-dir)/gitdir",
        "mkdir -p locked/in && touch locked/in/x && chmod 000 locked",
        "echo merged > add.py; git -c user.email=x commit -qam mine; git reset -q --hard HEAD~1",
    ],
)
def test_a_tree_that_a_check_damaged_serves_the_next_commit(
    repository: Repository, verifier: Verifier, damage: str
) -> None:
    with suppress(TreeMoved):
        one(verifier, repository.head(), damage)
    assert one(verifier, repository.head(), "cat add.py; git status --porcelain").exit_code == 0
    assert one(verifier, repository.head(), "ls").output == "add.py"
    repository.git("update-ref", "-d", "refs/heads/mine")


def test_a_tree_that_was_deleted_is_made_again(repository: Repository, verifier: Verifier) -> None:
    one(verifier, repository.head(), "true")
    shutil.rmtree(repository.path / ".worktrees/.verify")
    assert one(verifier, repository.head(), "ls").output == "add.py"


def test_a_half_merge_in_the_tree_is_reset(repository: Repository, verifier: Verifier) -> None:
    base = repository.head()
    ours = repository.commit({"x": "1"}, parent=base)
    theirs = repository.commit({"x": "2"}, parent=base)
    merge = f"git -c user.name=x -c user.email=x merge {theirs}"
    assert one(verifier, ours, merge).exit_code == 1
    assert one(verifier, ours, "cat x; git status --porcelain").output == "1"


def test_checks_that_move_the_tree_prove_nothing(repository: Repository, verifier: Verifier) -> None:
    other = repository.commit({"x": "1"}, parent=repository.head())
    with pytest.raises(TreeMoved):
        one(verifier, repository.head(), f"git checkout -q {other}")


def test_a_check_out_of_time_is_stopped_with_its_whole_group(
    repository: Repository, verifier: Verifier, tmp_path: Path
) -> None:
    result = one(verifier, repository.head(), f"echo begun; {IGNORES_TERM.format(tmp_path / 'pid')}", 0.5)
    assert result.exit_code is None
    assert result.output.splitlines() == ["begun", "", "[stopped: not done after 0.5 s]"]
    assert start_mark(int((tmp_path / "pid").read_text())) is None
    assert not passed([result])


def test_a_child_left_behind_neither_delays_the_result_nor_lives_on(
    repository: Repository, verifier: Verifier
) -> None:
    result = one(verifier, repository.head(), "sleep 600 & echo $!; yes | head -c 10 >&2 & exit 0")
    assert result.exit_code == 0
    assert result.seconds < 10
    assert start_mark(int(result.output.split()[0])) is None


def test_a_check_that_closes_its_output_is_waited_for(repository: Repository, verifier: Verifier) -> None:
    assert one(verifier, repository.head(), "exec >&- 2>&-; sleep 0.2; exit 4").exit_code == 4


def test_the_end_of_a_long_output_is_kept(repository: Repository, verifier: Verifier) -> None:
    output = one(
        verifier, repository.head(), "yes filler | head -c 3000000; echo; echo the reason; exit 1"
    ).output
    assert output.endswith("the reason")
    assert 7000 < len(output) <= 8000


def test_output_that_is_no_text_and_death_by_signal_are_reported(
    repository: Repository, verifier: Verifier
) -> None:
    result = one(verifier, repository.head(), r"printf '\377\376ok'; kill -9 $$")
    assert result.exit_code == -9
    assert result.output.endswith("ok")


def test_a_check_has_no_terminal_to_wait_for(repository: Repository, verifier: Verifier) -> None:
    assert one(verifier, repository.head(), "read answer || echo none").output == "none"


def test_two_processes_verify_at_once_in_trees_of_their_own(git: Git, repository: Repository) -> None:
    trees = [Verifier(git, repository.path / f".worktrees/.verify/{who}", os.environ) for who in "ab"]
    commits = [repository.commit({"x": who}, parent=repository.head()) for who in "ab"]
    said = [one(tree, commit, "cat x").output for tree, commit in zip(trees, commits, strict=True)]
    assert said == ["a", "b"]


def test_checks_end_when_the_process_is_told_to_stop(
    git: Git, repository: Repository, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    tree = repository.path / ".worktrees/.verify/alice"
    verifier = Verifier(git, tree, os.environ, stopping=begun.exists)
    with pytest.raises(ChecksInterrupted):
        one(verifier, repository.head(), f"echo $$ > {tmp_path}/pid; touch {begun}; sleep 600")
    assert start_mark(int((tmp_path / "pid").read_text())) is None
