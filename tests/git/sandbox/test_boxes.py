"""Commands in the sandbox: what works, what they cannot reach, and how their commits come out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess  # noqa: TID251 - a command of another user
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from coordination.child import in_shell, tool_environment
from tests.git.sandbox.conftest import Cage
from tests.support.repository import Repository
from tests.support.sandbox import a_sandbox, needs_sandbox, run
from workspace.sandbox.taking_over import NotTakenOver

pytestmark = needs_sandbox
USER = 1000  # an ordinary one; it need not have a name


# what works


def test_git_add_commit_log_and_diff_work(cage: Cage) -> None:
    cage.works("echo one > new && git add new && git commit --quiet -m Inside && echo two >> new")
    assert "Inside" in cage.works("git log --oneline")
    assert "+two" in cage.works("git diff")
    assert cage.works("git status --short") == "M new"
    assert cage.works("git log -1 --format=%ae") == "pat@example.org"


def test_pip_into_a_venv_and_pytest_work(cage: Cage) -> None:
    with zipfile.ZipFile(cage.tree / "thing-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing.py", "X = 7\n")
        wheel.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
        wheel.writestr(
            "thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("thing-1.dist-info/RECORD", "")
    cage.works(
        f"{sys.executable} -m venv .venv && .venv/bin/pip install --no-index -q ./thing-1-py3-none-any.whl"
    )
    cage.works(".venv/bin/python -c 'import thing; assert thing.X == 7'")
    cage.works(
        f"echo 'def test_it(): pass' > test_it.py; {sys.executable} -P -m pytest -q --rootdir . test_it.py"
    )


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_works(cage: Cage) -> None:
    package = {"name": "thing", "version": "1.0.0", "scripts": {"test": "node -e 'process.exit(0)'"}}
    for name, extra in (("dep", {}), (".", {"dependencies": {"thing": "file:dep"}})):
        text = json.dumps({**package, **extra})
        cage.repository.write({f"{name}/package.json": text}, at=cage.tree)
    cage.works(
        "npm install --offline --no-audit --no-fund && npm test --silent && test -e node_modules/thing"
    )


def test_a_repository_made_by_a_test_inside_is_its_own(cage: Cage) -> None:
    cage.works(
        "git init --quiet /tmp/other && cd /tmp/other && echo 1 > f && git add f && git commit -qm One "
        '&& git gc --quiet --prune=now && git fsck && test -n "$(ls .git/objects/pack)"'
    )
    assert cage.works("git log --format=%s") == "Start"


def test_temporary_files_and_the_private_home_stay_from_one_command_to_the_next(cage: Cage) -> None:
    cage.works("echo 1 > /tmp/note && echo 2 > ~/note")
    assert cage.works("cat /tmp/note ~/note").split() == ["1", "2"]


def test_a_command_fails_with_its_own_exit_code(cage: Cage) -> None:
    assert cage.run("exit 7").exit_code == 7


def test_a_command_in_the_persons_checkout_reads_and_writes_nothing(cage: Cage) -> None:
    ran = run(
        cage.sandbox.commands, cage.repository.path, "git log --format=%s && ! touch x && echo ok > /tmp/x"
    )
    assert ran.exit_code == 0, ran.output
    assert "Start" in ran.output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_it_works_for_an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        monkeypatch.setenv("HOME", place)
        cage = Cage(Repository.create(Path(place, "project"), {"a": "1\n"}))
        cage.works("true")  # the box is made
        for path in (Path(place), *Path(place).rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)
        work = "echo 2 > a && git commit -qam Two && git log --format=%s && ! git branch b && ! touch /etc/x"
        os.seteuid(USER)
        argv = cage.sandbox.commands(in_shell(work), cage.tree)
        os.seteuid(0)
        ran = subprocess.run(
            argv,
            cwd=cage.tree,
            env=tool_environment(),
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            check=False,
        )
        assert (ran.returncode, ran.stdout) == (0, b"Two\nStart\n"), ran.stderr


# what nobody reaches


@pytest.mark.parametrize(
    "attempt",
    [
        "git branch other",
        "git tag t",
        "git config user.name Mallory",
        "git update-ref refs/heads/main HEAD~0 && git branch -f main HEAD",
        "git stash push --include-untracked",
        "echo x > ../../add.py",
        "echo x >> ../../.git/config",
        "echo x > ../../.git/hooks/pre-commit",
        "echo '* filter=x' > ../../.git/info/attributes",
        "rm -rf ../../.git/refs/heads/main",
        "rm -f .git && echo gitdir: /tmp > .git",
        "mv .git /tmp/moved",
        "touch /etc/leadhand-was-here",
        "mount -o remount,rw /",
        "ls ../../.git/worktrees/task-2",
        "ls ../task-2/add.py",
    ],
)
def test_what_is_the_persons_cannot_be_changed(cage: Cage, attempt: str) -> None:
    cage.trees.create("task-2", base="HEAD")
    cage.works("echo new > new; echo changed >> add.py; git log")  # the box is made
    before = cage.shot()
    cage.fails(attempt)
    assert cage.shot() == before


def test_no_object_of_a_command_is_in_the_repository_before_it_is_taken_over(cage: Cage) -> None:
    cage.works("git log")
    before = cage.shot()
    cage.works("echo x > x && git add x && git commit --quiet -m Inside && git gc --quiet; git log")
    assert cage.shot() == before
    cage.repository.git("fsck", "--strict")
    cage.repository.git("gc", "--prune=now", "--quiet")
    assert cage.works("git log --format=%s").split() == ["Inside", "Start"]


def test_the_teams_state_and_files_with_credentials_are_hidden(cage: Cage) -> None:
    (cage.team.root / ".env").write_text("ANTHROPIC_API_KEY=sk-secret\n", encoding="utf-8")
    cage.repository.remember()
    for name in (".team", ".tasks", "mailboxes"):
        assert cage.works(f"ls -A ../../{name}") == ""
    assert "sk-secret" not in cage.run("cat ../../.env").output


def test_secrets_in_the_home_are_hidden(cage: Cage) -> None:
    home = os.environ["HOME"]
    for name in (".ssh/id_ed25519", ".config/leadhand/config.yaml", ".netrc"):
        cage.repository.write({name: "secret-of-pat"}, at=type(cage.tree)(home))
    found = cage.run(f"cat ~/.ssh/* ~/.config/leadhand/* ~/.netrc; grep -r secret-of-pat {home}").output
    assert "secret-of-pat" not in found.replace("grep -r secret-of-pat", "")


def test_no_process_outside_is_seen_or_stopped(cage: Cage) -> None:
    assert cage.fails(f"kill -0 {os.getpid()}")
    assert cage.works("ls /proc | grep -c '^[0-9]'").strip() in {"3", "4", "5", "6"}


def test_the_environment_of_the_host_is_not_found_in_proc(
    cage: Cage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    assert "sk-secret" not in cage.run("env; cat /proc/*/environ /proc/$PPID/environ").output


def test_the_network_is_reached_only_as_configured(cage: Cage) -> None:
    count = "wc -l < /proc/net/dev"
    outside = int(cage.works(count))
    alone = a_sandbox(cage.team, cage.git, network="setup")
    assert int(run(alone.commands, cage.tree, count).output) == 3  # two lines of heading, and the loopback
    assert int(run(alone.setup, cage.tree, count).output) == outside
    nobody = a_sandbox(cage.team, cage.git, network="none")
    assert int(run(nobody.setup, cage.tree, count).output) == 3


def test_what_a_command_left_running_is_gone_with_it(cage: Cage) -> None:
    cage.works("(setsid sleep 1000 >/dev/null 2>&1 &) ; true")
    assert "sleep 1000" not in cage.run("ps ax 2>/dev/null || cat /proc/*/cmdline").output


# how commits come out


def test_a_snapshot_holds_what_was_committed_staged_and_left_in_the_tree(cage: Cage) -> None:
    cage.repository.write({".gitignore": "*.log\n"}, at=cage.tree)
    cage.works(
        "echo 1 > one && git add one && git commit -qm One && echo l > forced.log && git add -f forced.log"
    )
    cage.works("echo 2 > two")
    commit = cage.snapshot()
    for name, text in (("one", "1"), ("two", "2"), ("forced.log", "l")):
        assert cage.show(commit, name) == text
    assert cage.repository.git("log", "--format=%s", commit).split("\n") == ["Work", "One", "Start"]
    assert cage.works("git log --format=%s").split("\n") == ["Work", "One", "Start"]
    assert cage.works("git status --short") == ""
    cage.repository.git("fsck", "--strict")


def test_work_goes_on_inside_after_a_snapshot(cage: Cage) -> None:
    for name in ("a", "b"):
        cage.works(f"echo {name} > {name} && git add {name} && git commit -qm {name}")
        cage.snapshot()
    assert cage.works("git log --format=%s").split("\n") == ["b", "a", "Start"]


def test_a_tree_in_which_nothing_was_committed_is_taken_as_it_is(cage: Cage) -> None:
    cage.works("git status; echo 1 > one")
    assert cage.show(cage.snapshot(), "one") == "1"


def test_a_tree_of_a_dead_member_gives_its_commits_to_the_next(cage: Cage) -> None:
    cage.works("echo 1 > one && git add one && git commit -qm One")
    commit = cage.trees.last_commit(cage.trees.recorded(cage.tree))
    assert commit
    assert cage.show(commit, "one") == "1"


def test_objects_that_git_finds_damaged_are_not_taken_over(cage: Cage) -> None:
    cage.works(
        "echo x > x && blob=$(git hash-object -w x) && "
        'tree=$(printf "100644 blob $blob\\t.git\\n" | git mktree) && '
        'git reset -q --soft "$(git commit-tree -p HEAD -m Evil "$tree")"'
    )
    evil = cage.works("git rev-parse HEAD")
    with pytest.raises(NotTakenOver, match=r"hasDotgit|\.git"):
        cage.snapshot()
    assert not cage.git.holds("cat-file", "-e", evil)


def test_a_head_that_was_moved_to_other_history_is_not_taken_over(cage: Cage) -> None:
    cage.works("git reset -q --soft $(git commit-tree -m Orphan HEAD^{tree})")
    with pytest.raises(NotTakenOver, match="descend"):
        cage.snapshot()


def test_links_and_pipes_in_place_of_gits_files_lead_the_host_nowhere(cage: Cage, tmp_path: Path) -> None:
    cage.works("git log")
    victim = tmp_path / "victim"
    victim.write_text("as it was", encoding="utf-8")
    cage.works(
        "cd $(git rev-parse --absolute-git-dir) && rm -f index HEAD && mkfifo index && "
        f"ln -s {victim} HEAD; rm -f ~/.gitconfig; ln -s {victim} ~/.gitconfig; "
        f"ln -s {victim} /tmp/leadhand.pack"
    )
    with pytest.raises(NotTakenOver):
        cage.snapshot()
    assert victim.read_text(encoding="utf-8") == "as it was"


def test_nothing_is_left_of_a_box_when_its_tree_is_removed(cage: Cage) -> None:
    cage.works("mkdir -p ~/cache/ro && touch ~/cache/ro/x && chmod 500 ~/cache/ro")
    own = cage.git.at(cage.tree).place.own
    assert (own / "leadhand-box").is_dir()
    cage.git.run("worktree", "remove", "--force", "--force", str(cage.tree))
    assert not own.exists()
