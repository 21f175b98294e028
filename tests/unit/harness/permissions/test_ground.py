"""Commands in a real directory: what links, patterns and planted repositories make of their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.permissions.ground import ground_at
from harness.permissions.judge import judge
from harness.permissions.rules import Verdict, parse_rules
from harness.permissions.ruling import Policy, Ruling

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A working directory with links, guides and something that git takes for a repository."""
    top = tmp_path / "tree"
    for folder in ("a", "sub", "deep/er/est", "docs/inner", "skills/k", "planted/objects", "planted/refs"):
        (top / folder).mkdir(parents=True)
    for name in ("a.py", "a/b.py", "docs/inner/AGENTS.md", "skills/k/SKILL.md", "skills/k/run.sh"):
        (top / name).write_text("x\n")
    (top / "planted/HEAD").write_text("ref: refs/heads/main\n")
    (top / "planted/config").write_text("[core]\nworktree = .\nfsmonitor = touch pwned\n")
    (tmp_path / "secret").write_text("x\n")
    (top / "sub/up").symlink_to("../a")
    (top / "down").symlink_to("deep/er/est")
    return top


def on(tree: Path, command: str, *allow: str) -> Ruling:
    rules = parse_rules(allow=allow, ask=[], deny=[])
    return judge(Policy(rules=rules), "bash", {"command": command}, ground_at(tree, tree))


@pytest.mark.parametrize(
    "command",
    [
        "cat sub/up/../../secret",  # the system follows `sub/up` to `a` before it goes up
        "cd sub/up && cat ../../secret",
        "cd down/../.. && cat secret",  # a shell goes up by the words
        "cd down; cd ../..; cat secret",
    ],
)
def test_a_way_up_behind_a_link_leads_where_the_system_says(tree: Path, command: str) -> None:
    ruling = on(tree, command)
    assert (ruling.verdict, ruling.reason) == (Verdict.ASK, "outside"), ruling.text


def test_a_way_up_behind_a_link_that_stays_here_needs_no_question(tree: Path) -> None:
    for command in ("cat sub/up/../a.py", "cd down && cat ../../../a.py", "cd sub/up && cat b.py"):
        assert on(tree, command).verdict is Verdict.ALLOW, command


@pytest.mark.parametrize(
    "command",
    [
        "git -C planted status",
        "cd planted && git diff",
        "git -C planted/refs log",
        "git -C pl* log",
        "for d in p*; do git -C $d status; done",
        "nice git -C ./sub/../planted status",
    ],
)
def test_a_planted_repository_starts_nothing_unasked(tree: Path, command: str) -> None:
    for allow in ((), ("bash",), ("bash(git *)",)):
        ruling = on(tree, command, *allow)
        assert (ruling.verdict, "settings start programs" in ruling.text) == (Verdict.ASK, True), ruling.text
    assert on(tree, "git -C docs log").verdict is Verdict.ALLOW


def test_a_pattern_stands_for_what_a_shell_makes_of_it(tree: Path) -> None:
    (tree / ".env").write_text("KEY=x\n")
    for command in ("cat *", "wc -l *.py", "for f in *; do head -1 $f; done"):
        assert on(tree, command).verdict is Verdict.ALLOW, command
    for command in (
        "cat .e*",
        "cat .[^x]nv",
        "cat .[[:lower:]]nv",
        "cat .??v",
        "for f in .*; do cat $f; done",
    ):
        assert on(tree, command).reason == "secret", command


@pytest.mark.parametrize("command", ["rg x *", "sort *", "for f in *; do rg x $f; done", "grep x ?-pre*"])
def test_a_name_that_would_be_an_option_is_asked_about(tree: Path, command: str) -> None:
    assert on(tree, command).verdict is Verdict.ALLOW
    (tree / "--pre=evil").write_text("x\n")
    assert "taken for an option" in on(tree, command).text


def test_what_find_shows_a_program_is_judged_as_files(tree: Path) -> None:
    command = "find . -name '*.py' -exec cat {} +"
    assert on(tree, command).verdict is Verdict.ALLOW
    (tree / "out").symlink_to(tree.parent / "secret")
    assert on(tree, command).reason == "outside"
    (tree / "out").unlink()
    (tree / "sub/.env").write_text("KEY=x\n")
    assert on(tree, command).reason == "secret"


@pytest.mark.parametrize(
    "command",
    [
        "mv docs papers",
        "cp -r docs papers",
        "cp -a docs/inner/. .",
        "rsync -a docs/ papers/",
        "rm -rf docs",
        "git mv docs papers",
        "git rm -r docs",
        "find docs -delete",
        "rm -r skills",
        "cp -r skills/k skills/j",
    ],
)
def test_a_directory_with_guides_in_it_is_not_moved_or_copied_unasked(tree: Path, command: str) -> None:
    ruling = on(tree, command, "bash")
    assert (ruling.verdict, ruling.reason) == (Verdict.ASK, "instructs"), ruling.text
    named = ("bash", "write_file(docs/*)", "write_file(skills/*)", "write_file(papers/*)")
    assert on(tree, command, *named).verdict is Verdict.ALLOW


def test_a_directory_without_guides_is_moved_as_the_rules_say(tree: Path) -> None:
    for command in ("mv a b", "cp -r a b", "rm -rf a", "rsync -a a/ b/"):
        assert on(tree, command, "bash").verdict is Verdict.ALLOW, command


@pytest.mark.parametrize("name", ["/proc/1/cwd/x", "a\0b", "a\ud800", "x" * 5000])
def test_a_name_that_leads_nowhere_is_judged_all_the_same(tree: Path, name: str) -> None:
    assert on(tree, f"cat {name}").verdict is not Verdict.DENY
    ground = ground_at(tree, tree)
    assert judge(Policy(), "read_file", {"path": name}, ground).verdict is Verdict.ALLOW
