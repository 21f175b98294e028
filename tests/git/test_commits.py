"""How the host commits, however the person's git is set up: no editor, no signature, no hook, no stash."""

from __future__ import annotations

import subprocess  # noqa: TID251 - four real processes at one moment
import sys
from typing import TYPE_CHECKING

import pytest

from workspace.git import Git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.repository import Repository
    from workspace.worktrees import Worktrees


@pytest.fixture
def tree(repository: Repository, trees: Worktrees) -> Path:
    path = trees.create("task-1", base=repository.head())
    repository.write({"new.py": "x = 1\n"}, at=path)
    return path


def take(trees: Worktrees, tree: Path) -> str:
    return trees.snapshot(tree, message="Fix the sum", member="alice", task="task_1")


def test_nothing_is_signed_and_no_editor_is_opened(
    repository: Repository, trees: Worktrees, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("commit.gpgsign", "true"),
        ("tag.gpgsign", "true"),
        ("gpg.program", "/nowhere/gpg"),
        ("user.signingkey", "DEADBEEF"),
        ("core.editor", "/nowhere/editor"),
        ("commit.verbose", "true"),
        ("commit.template", "/nowhere/template"),
    ):
        repository.git("config", "--global", name, value)
    monkeypatch.setenv("GIT_EDITOR", "/nowhere/editor")
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    commit = take(trees, tree)
    assert "gpgsig" not in repository.git("cat-file", "commit", commit)
    assert repository.git("log", "-1", "--format=%B", commit) == "Fix the sum\n\nLeadhand-Task: task_1"


def test_a_merge_of_the_host_is_neither_signed_nor_edited(repository: Repository, trees: Worktrees) -> None:
    repository.git("config", "--global", "commit.gpgsign", "true")
    repository.git("config", "--global", "gpg.program", "/nowhere/gpg")
    base = repository.head()
    one, two = (repository.commit({name: name}, parent=base) for name in ("one", "two"))
    path = trees.create("task-2", base=one, also=[two])
    merged = repository.git("cat-file", "commit", trees.head(path))
    assert merged.count("parent ") == 2
    assert "gpgsig" not in merged


def test_hooks_and_the_stash_of_the_person_are_left_alone(
    repository: Repository, trees: Worktrees, tree: Path
) -> None:
    repository.write({"add.py": "draft\n"})
    repository.git("stash", "push", "--quiet")
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout"):
        hook = repository.path / ".git/hooks" / name
        hook.write_text("#!/bin/sh\ntouch ../hook-ran\nexit 1\n")
        hook.chmod(0o755)
    repository.remember()
    take(trees, tree)
    assert not list(repository.path.rglob("hook-ran"))
    assert repository.git("stash", "list").count("stash@") == 1


def test_four_processes_that_add_in_one_checkout_all_succeed(
    repository: Repository, tree: Path
) -> None:  # S23
    code = (
        "import sys; from pathlib import Path; from workspace.git import Git\n"
        "here = Git(Path(sys.argv[1])).at(Path(sys.argv[2]))\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for n in range(10):\n"
        "    name = f'{sys.argv[3]}-{n}'\n"
        "    (here.place.tree / name).write_text(name)\n"
        "    here.run('add', '--', name)\n"
    )
    command = [sys.executable, "-c", code, str(repository.path), str(tree)]
    four = [
        subprocess.Popen([*command, f"w{n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    for one in four:
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
    for one in four:
        one.communicate("\n")
    assert [one.returncode for one in four] == [0] * 4
    added = Git(repository.path).at(tree).run("diff", "--cached", "--name-only").split()
    assert len([name for name in added if name.startswith("w")]) == 40
