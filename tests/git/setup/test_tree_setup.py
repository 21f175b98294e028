"""A tree in which the project runs: included files, set-up commands, variables, ports."""

from __future__ import annotations

import os
import socket
import subprocess  # noqa: TID251 - ports are given out among processes
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from coordination.layout import setup_log
from workspace.checks import Verifier
from workspace.setup.ports import SIZE, Ports
from workspace.setup.tree_setup import SetupFailed, SetupInterrupted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.git.setup.conftest import Ground
    from tests.support.repository import Repository

ENV = {"PATH": os.environ["PATH"]}


def ignored(repository: Repository, patterns: str, include: str, files: dict[str, str]) -> None:
    """Files that git ignores, and the patterns of those to copy, as the person has them."""
    repository.write({".gitignore": patterns, ".worktreeinclude": include})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "Ignore")
    repository.write(files)
    repository.remember()


# .worktreeinclude


def test_the_ignored_files_that_the_patterns_name_are_copied(ground: Ground) -> None:
    files = {"config/local.yaml": "a: 1\n", "data/big.bin": "x", "data/keep.csv": "1,2\n", "näme.local": "ä"}
    patterns, include = "*.local\nconfig/local.yaml\ndata/\n", "*.local\nconfig/\ndata/*\n!data/big.bin\n"
    ignored(ground.repository, patterns, include, files)
    tree = ground.tree()
    ground.ready(ground.setup(), tree)
    assert (tree / "config/local.yaml").read_text() == "a: 1\n"
    assert (tree / "data/keep.csv").exists()
    assert (tree / "näme.local").read_text() == "ä"
    assert not (tree / "data/big.bin").exists()
    assert ground.repository.git("status", "--porcelain", at=tree) == ""


def test_nothing_is_copied_through_a_link_that_leads_out_of_the_tree(ground: Ground, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    ignored(ground.repository, "config/local.yaml\n", "config/\n", {"config/local.yaml": "a: 1\n"})
    tree = ground.tree()
    (tree / "config").symlink_to(outside)
    ground.ready(ground.setup(), tree)
    assert not list(outside.iterdir())


def test_what_git_does_not_ignore_is_not_copied_and_neither_is_team_state(ground: Ground) -> None:
    ignored(ground.repository, "*.json\n", "*\n", {"a.json": "1"})
    ground.repository.write({"draft.txt": "of the person"})
    ground.repository.remember()
    tree = ground.tree()
    ground.ready(ground.setup(), tree)
    assert (tree / "a.json").exists()
    assert not (tree / "draft.txt").exists()
    assert not (tree / ".team").exists()


def test_a_file_that_the_commit_holds_is_not_written_over(ground: Ground) -> None:
    ignored(ground.repository, "*.local\n", "*.local\n", {"a.local": "mine"})
    ground.repository.git("add", "--force", "a.local")
    ground.repository.git("commit", "--quiet", "--message", "Hold")
    ground.repository.write({"a.local": "newer, not committed"})
    ground.repository.remember()
    tree = ground.tree()
    ground.ready(ground.setup(), tree)
    assert (tree / "a.local").read_text() == "mine"


def test_the_credentials_of_the_model_stay_out_of_the_tree(ground: Ground) -> None:
    text = "PORT=1\nexport ANTHROPIC_API_KEY=secret\nANTHROPIC_AUTH_TOKEN = secret\nDB=x\n"
    ignored(ground.repository, ".env\n", ".env\n", {".env": text})
    tree = ground.tree()
    ground.ready(ground.setup(), tree)
    assert (tree / ".env").read_text() == "PORT=1\nDB=x\n"


# set-up commands


def test_the_commands_run_in_order_in_the_tree_with_its_variables(ground: Ground) -> None:
    tree = ground.tree()
    setup = ground.setup("pwd > one.txt", "cat one.txt > two.txt; env > env.txt")
    ground.ready(setup, tree)
    assert (tree / "two.txt").read_text().strip() == str(tree)
    found = dict(line.split("=", 1) for line in (tree / "env.txt").read_text().splitlines())
    named = setup.variables(tree, "task_00000001")
    assert {name: found[name] for name in named} == named
    assert found["LEADHAND_WORKTREE"] == str(tree)
    assert found["LEADHAND_TASK"] == "task_00000001"
    assert found["LEADHAND_REPOSITORY"] == str(ground.repository.path)


def test_the_credentials_of_the_model_do_not_reach_a_set_up(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    tree = ground.tree()
    ground.ready(ground.setup("env > env.txt", environment_pass=("ANTHROPIC_API_KEY",)), tree)
    assert "secret" not in (tree / "env.txt").read_text()


def test_a_failure_says_which_command_shows_its_end_and_keeps_the_whole_log(ground: Ground) -> None:
    tree = ground.tree()
    setup = ground.setup("echo fine", "seq 100; echo no such package >&2; exit 7", "touch never")
    with pytest.raises(SetupFailed) as raised:
        ground.ready(setup, tree)
    assert "exit code 7" in str(raised.value)
    assert "no such package" in str(raised.value)
    log = (ground.repository.path / setup_log(tree.name)).read_text()
    assert str(raised.value.log) == setup_log(tree.name)
    assert "$ echo fine\nfine\n[exit code 0" in log
    assert "\n42\n" in log
    assert not (tree / "never").exists()


def test_a_command_that_does_not_end_is_stopped(ground: Ground) -> None:
    with pytest.raises(SetupFailed, match="did not end in time"):
        ground.ready(ground.setup("sleep 60", setup_timeout_seconds=0.2), ground.tree())


def test_a_set_up_ends_when_the_process_is_told_to_stop(ground: Ground) -> None:
    tree = ground.tree()
    begun = tree / "begun"
    with pytest.raises(SetupInterrupted):
        ground.ready(ground.setup("touch begun; sleep 60", stopping=begun.exists), tree)


def test_a_tree_is_made_ready_once_and_again_when_a_manifest_changes(ground: Ground) -> None:
    ground.repository.write({"requirements.txt": "a\n"})
    ground.repository.git("add", "--all")
    ground.repository.git("commit", "--quiet", "--message", "Need a")
    ground.repository.remember()
    tree, setup = ground.tree(), ground.setup("echo x >> ran.txt")
    ground.ready(setup, tree)
    ground.ready(setup, tree)
    assert (tree / "ran.txt").read_text() == "x\n"
    ground.repository.write({"requirements.txt": "b\n"}, at=tree)
    ground.repository.git("add", "requirements.txt", at=tree)
    ground.ready(setup, tree)
    assert (tree / "ran.txt").read_text() == "x\nx\n"


def test_a_failed_set_up_is_tried_again(ground: Ground) -> None:
    tree = ground.tree()
    with pytest.raises(SetupFailed):
        ground.ready(ground.setup("test -e there"), tree)
    (tree / "there").touch()
    ground.ready(ground.setup("test -e there"), tree)


def test_checks_run_in_a_tree_that_was_made_ready_once_for_many_commits(ground: Ground) -> None:
    repository = ground.repository
    tree = repository.path / ".worktrees/.verify-alice"
    setup = ground.setup("mkdir .venv; echo installed > .venv/tool; echo x >> .venv/ran", refresh=True)
    verifier = Verifier(ground.git, tree, ENV, setup=setup)
    second = repository.commit({"b.py": "b = 1\n"}, parent=repository.head())
    for commit in (repository.head(), second):
        (result,) = verifier.verify(commit, {"check": "cat .venv/tool; echo $LEADHAND_PORT"}, 20)
        assert result.output == f"installed\n{setup.variables(tree, '')['LEADHAND_PORT']}"
    assert (tree / ".venv/ran").read_text() == "x\n"


def test_a_newer_version_of_an_included_file_reaches_the_checks(ground: Ground) -> None:
    ignored(ground.repository, "*.local\n", "*.local\n", {"a.local": "1"})
    verifier = Verifier(
        ground.git, ground.repository.path / ".worktrees/.verify-a", ENV, setup=ground.setup(refresh=True)
    )
    assert verifier.verify("HEAD", {"check": "cat a.local"}, 20)[0].output == "1"
    ground.repository.write({"a.local": "22"})
    ground.repository.remember()
    assert verifier.verify("HEAD", {"check": "cat a.local"}, 20)[0].output == "22"


# ports


def test_each_tree_has_ports_of_its_own(ground: Ground) -> None:
    tree = ground.tree()
    setups = [ground.setup(), ground.setup()]  # kept, and with them their ports
    one, two = (int(setup.variables(tree, "")["LEADHAND_PORT"]) for setup in setups)
    assert setups[0].variables(tree, "") == setups[0].variables(tree, "")
    assert abs(one - two) >= SIZE


def test_ports_are_free_again_when_their_holder_was_killed(tmp_path: Path) -> None:
    place = tmp_path / "ports"
    place.mkdir()
    code = (
        "import sys, pathlib; from workspace.setup.ports import Ports\n"
        "ports = Ports(pathlib.Path(sys.argv[1])); print(ports.get().start, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        held = int(holder.stdout.readline())
        mine = Ports(place)
        assert mine.get().start != held
        holder.kill()
        holder.wait()
    assert Ports(place).get().start == held
    mine.release()


def test_a_range_in_which_something_listens_is_passed_over(tmp_path: Path) -> None:
    first = Ports(tmp_path)
    taken = first.get()
    first.release()
    with closing(socket.create_server(("127.0.0.1", taken[3]))):
        assert Ports(tmp_path).get() != taken
