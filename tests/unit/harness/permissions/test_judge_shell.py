"""Commands in disguise and harmless ones that sound dangerous: what is run, asked about, denied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.permissions.judge import judge
from harness.permissions.rules import Verdict, parse_rules
from harness.permissions.ruling import Ground, Policy, Ruling

PLACE = Path(__file__).parents[3] / "cases"
GROUND = Ground(cwd="/workspace/app", root="/workspace/app", persons="/home/pat/.config/leadhand")
CASES: list[dict[str, Any]] = json.loads((PLACE / "shell_commands.json").read_text(encoding="utf-8"))["cases"]
MORE: dict[str, list[str]] = json.loads((PLACE / "more_shell_commands.json").read_text(encoding="utf-8"))


def on(command: str, *, checks: tuple[str, ...] = (), **rules: list[str]) -> Ruling:
    parsed = parse_rules(**{"allow": [], "ask": [], "deny": []} | rules)
    return judge(Policy(rules=parsed, checks=checks), "bash", {"command": command}, GROUND)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_case_has_its_verdict(case: dict[str, Any]) -> None:
    ruling = on(case["command"])
    assert ruling.verdict == case["expected"], ruling.text


def test_there_are_enough_cases_of_our_own() -> None:
    assert all(len(set(commands)) == len(commands) for name, commands in MORE.items() if name != "about")
    assert min(len(MORE[name]) for name in ("deny", "ask", "allow")) >= 80


@pytest.mark.parametrize("command", MORE["deny"])
def test_what_destroys_or_seizes_authority_is_denied(command: str) -> None:
    ruling = on(command, allow=["bash", "write_file"])
    assert ruling.verdict is Verdict.DENY, ruling.text


@pytest.mark.parametrize("command", MORE["ask"])
def test_what_does_more_than_read_here_is_never_run_unasked(command: str) -> None:  # T109
    assert on(command).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("command", MORE["word_although_a_rule_allows_all"])
def test_what_leaves_the_tree_or_cannot_be_undone_asks_whatever_is_allowed(command: str) -> None:
    ruling = on(command, allow=["bash", "write_file", "read_file"])
    assert ruling.verdict is Verdict.ASK, ruling.text


@pytest.mark.parametrize("command", MORE["ask_never_deny"])
def test_what_only_sounds_dangerous_is_never_denied(command: str) -> None:
    ruling = on(command)
    assert ruling.verdict is Verdict.ASK, ruling.text


@pytest.mark.parametrize("command", MORE["allow"])
def test_reading_here_needs_no_question(command: str) -> None:  # T109
    ruling = on(command)
    assert ruling.verdict is Verdict.ALLOW, ruling.text


def test_s28_a_chain_needs_a_word_for_every_part() -> None:
    ruling = on("echo a && rm b", allow=["bash(echo *)"])
    assert (ruling.verdict, ruling.text) == (Verdict.ASK, "rm b: rm may change something")
    assert on("echo a && rm b", allow=["bash(echo *)", "bash(rm b)"]).verdict is Verdict.ALLOW


def test_s29_words_in_a_commit_message_are_no_commands() -> None:
    ruling = on('git commit -m "stop rm -rf and sudo"')
    assert (ruling.verdict, ruling.reason) == (Verdict.ASK, "shell")


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("python -m pytest -q", Verdict.ALLOW),
        ("python  -m 'pytest' -q", Verdict.ALLOW),
        ("cd src && python -m pytest -q 2>&1 | tail -20", Verdict.ALLOW),
        ("python -m pytest -q tests/test_a.py tests/b", Verdict.ALLOW),
        ("python -m pytest -q -p evil", Verdict.ASK),
        ("python -m pytest -q ../other", Verdict.ASK),
        ("python -m pytest -q /tmp/x", Verdict.ASK),
        ("python -m pytest -qq", Verdict.ASK),
        ("python -m pytest", Verdict.ASK),
        ("X=1 python -m pytest -q", Verdict.ASK),
        ("timeout 600 python -m pytest -q", Verdict.ALLOW),
        ("env X=1 python -m pytest -q", Verdict.ASK),
        ("xargs python -m pytest -q", Verdict.ASK),
        ("make lint && make test", Verdict.ALLOW),
        ("make test SHELL=x", Verdict.ASK),
    ],
)
def test_the_commands_of_checks_run_so_that_work_can_be_tested(command: str, verdict: Verdict) -> None:
    checks = ("python -m pytest -q", "make lint && make test")
    assert on(command, checks=checks).verdict is verdict


def test_a_check_that_destroys_is_denied_all_the_same() -> None:
    assert on("rm -rf /", checks=("rm -rf /",)).verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("command", "broad", "named"),
    [
        ("git push origin x", "bash(git *)", "bash(git push *)"),
        ("git branch -D x", "bash", "bash(git branch *)"),
        ("touch /tmp/a", "bash(touch *)", "write_file(/tmp/*)"),
        ("ls > ../out", "bash", "write_file(/workspace/*)"),
        ("cat .env", "bash", "read_file(.env)"),
    ],
)
def test_some_things_need_a_rule_that_names_them(command: str, broad: str, named: str) -> None:
    assert on(command, allow=[broad]).verdict is Verdict.ASK
    assert on(command, allow=["bash", named]).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("cat private/a", "read_file(private/*)"),
        ("cd private && cat a", "read_file(private/*)"),
        ("wc < private/a", "read_file"),
        ("echo x > docs/a", "write_file(docs/*)"),
        ("cp a docs/b", "edit_file(docs/*)"),
        ("ls | grep x && make", "bash(grep *)"),
        ("/usr/bin/git push", "bash(git push *)"),
        ("git -C sub --no-pager push", "bash(git push *)"),
        ("nice -n 5 timeout 9 git push", "bash(git push *)"),
        ("env A=1 xargs git push", "bash(git push *)"),
        ("find . -exec git push ;", "bash(git push *)"),
        ("sh -c 'make && git push' x", "bash(git push *)"),
        ("find . -name x -exec cat private/a ;", "read_file(private/*)"),
    ],
)
def test_a_rule_on_files_holds_for_commands_as_well(command: str, rule: str) -> None:
    assert on(command, allow=["bash"], deny=[rule]).verdict is Verdict.DENY


@pytest.mark.parametrize(
    "place", ["/workspace/app/leadhand.yaml", "/home/pat/.config/leadhand/answers/x.json"]
)
def test_no_rule_lets_a_command_write_the_policy(place: str) -> None:
    ruling = on(f"echo x > {place}", allow=["bash", "write_file(/*)"])
    assert (ruling.verdict, ruling.reason) == (Verdict.DENY, "protected")


def test_the_state_of_the_team_is_protected_from_a_tree_below_it() -> None:
    ground = Ground(cwd="/repo/.worktrees/a", root="/repo")
    for target in ("../../.tasks/x", "/repo/.team/keys/1", "/repo/leadhand.yaml", "../b/a.py"):
        ruling = judge(Policy(), "bash", {"command": f"echo x > {target}"}, ground)
        assert (ruling.verdict, ruling.reason) == (Verdict.DENY, "protected"), target
