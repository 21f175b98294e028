from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from harness.settings.sources import SettingMisread, SettingsUnreadable, UnknownSetting
from orchestrator.cli.policy import policy

if TYPE_CHECKING:
    from pathlib import Path


def run(team: Path, *arguments: str) -> str:
    result = CliRunner().invoke(policy, [*arguments, "--team", str(team)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / "leadhand.yaml").write_text(
        "permissions:\n  ask: ['bash(git push *)']\n  deny: [reviewer:edit_file, 'bash(git push *)']\n"
    )
    return tmp_path


def test_check_shows_the_rules_in_the_order_in_which_they_win(team: Path) -> None:
    assert run(team, "check").splitlines() == [
        "deny   reviewer:edit_file",
        "deny   bash(git push *)",
        "ask    bash(git push *)  (never holds: deny bash(git push *) is stronger)",
    ]
    assert json.loads(run(team, "check", "--json"))[0] == {
        "verdict": "deny",
        "rule": "reviewer:edit_file",
        "never_holds_for": "",
    }


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("permissions: {deny: [raed_file]}\n", SettingMisread, "did you mean read_file?"),
        ("permissions: {deny: ['bash()']}\n", SettingMisread, "is no permission rule"),
        ("permissions: {forbid: [bash]}\n", UnknownSetting, "there is no setting permissions.forbid"),
        ("permissions: [\n", SettingsUnreadable, "line 2"),
    ],
)
def test_check_names_what_is_wrong_in_a_file(
    tmp_path: Path, text: str, error: type[Exception], says: str
) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(text)
    with pytest.raises(error, match=r"other\.yaml: ") as caught:
        run(tmp_path, "check", str(file))
    assert says in str(caught.value)


def test_explain_says_verdict_gate_reason_and_rule(team: Path) -> None:
    told = run(team, "explain", "bash", "git", "push", "--force")
    assert told == "deny [permission/rule] the rule bash(git push *) says deny\n"
    facts = json.loads(run(team, "explain", "edit_file", '{"path": "a"}', "--role", "reviewer", "--json"))
    assert facts == {
        "tool": "edit_file",
        "verdict": "deny",
        "gate": "permission",
        "reason": "rule",
        "text": "the rule reviewer:edit_file says deny",
        "rule": "reviewer:edit_file",
    }


def test_explain_knows_what_holds_without_a_rule(team: Path) -> None:
    assert run(team, "explain", "bash", "rm -rf /").startswith("deny [permission/destructive]")
    assert run(team, "explain", "read_file", "a.py").startswith("allow [permission/built_in]")
    assert run(team, "explain", "mcp__docs__search", "{}").startswith("ask [permission/built_in]")


def test_explain_lists_the_tools_there_are(team: Path) -> None:
    result = CliRunner().invoke(policy, ["explain", "bsh", "ls", "--team", str(team)])
    assert "there is no tool bsh; the tools are bash, " in str(result.exception)
