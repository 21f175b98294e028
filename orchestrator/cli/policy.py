"""The verbs that look at the policy: policy check, policy explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordination.errors import UsageError
from orchestrator.cli.shared import VerbsBelow, json_option, show, team_option

if TYPE_CHECKING:
    from harness.permissions.rules import Rule
    from harness.permissions.ruling import Ruling
    from harness.settings.settings import Settings


@click.group(cls=VerbsBelow)
def policy() -> None:
    """Check a policy, or ask what it says of a call."""


@policy.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@json_option
@team_option
def check(*, file: Path | None, as_json: bool, team_directory: Path | None) -> None:
    """Show the rules in force, in the order in which they win; FILE stands for leadhand.yaml."""
    from harness.permissions.rules import parse_rules, shadowed

    settings = _settings(team_directory, file)
    rules = parse_rules(allow=settings.allow, ask=settings.ask, deny=settings.deny)
    stronger = shadowed(rules)
    rows = [
        {"verdict": str(rule.verdict), "rule": str(rule), "never_holds_for": str(stronger.get(rule) or "")}
        for rule in rules
    ]
    show(rows, as_json, lambda: "\n".join(_row(rule, stronger.get(rule)) for rule in rules) or "no rules")


def _row(rule: Rule, stronger: Rule | None) -> str:
    never = f"  (never holds: {stronger.verdict} {stronger} is stronger)" if stronger else ""
    return f"{rule.verdict:<6} {rule}{never}"


@policy.command("explain", context_settings={"ignore_unknown_options": True})
@click.argument("tool")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--role", default="teammate", show_default=True, help="Whose call it would be.")
@json_option
@team_option
def explain(
    *, tool: str, arguments: tuple[str, ...], role: str, as_json: bool, team_directory: Path | None
) -> None:
    """Say what becomes of a call of TOOL: verdict, gate, reason and the rule that decides.

    ARGUMENTS are a JSON object, or just the text that rules are compared with, such as a command.
    """
    from harness.assembly import policy_of
    from harness.permissions.ground import ground_at
    from harness.permissions.judge import judge

    call = _call(tool, " ".join(arguments))
    ground = ground_at(Path.cwd(), team_directory or Path.cwd())
    ruling = judge(policy_of(_settings(team_directory), role), tool, call, ground)
    facts = {
        "tool": tool,
        "verdict": str(ruling.verdict),
        "gate": "permission",
        "reason": ruling.reason,
        "text": ruling.text,
        "rule": str(ruling.rule) if ruling.rule else None,
    }
    show(facts, as_json, lambda: _in_words(ruling))


def _in_words(ruling: Ruling) -> str:
    return f"{ruling.verdict} [permission/{ruling.reason}] {ruling.text}"


def _call(tool: str, text: str) -> dict[str, Any]:
    from harness.permissions.rules import DEFAULTS, MCP, default_of

    if tool not in DEFAULTS and not tool.startswith(MCP):
        raise UsageError(detail=f"there is no tool {tool}; the tools are {', '.join(sorted(DEFAULTS))}")
    if not text.startswith("{"):
        subject = default_of(tool).subject
        if subject and not text and tool != "grep":  # which looks everywhere if nobody says where
            raise UsageError(detail=f"say with which {subject}: leadhand policy explain {tool} '…'")
        return {subject: text}
    try:
        call = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UsageError(detail=f"the arguments are no JSON object: look at {where}") from error
    assert isinstance(call, dict)
    return call


def _settings(team_directory: Path | None, file: Path | None = None) -> Settings:
    """Those in force here; a policy can be looked at before there is a team."""
    from coordination.team_root import find_root
    from harness.settings.settings import load_settings

    return load_settings(team_directory or find_root(Path.cwd()) or Path.cwd(), shared_file=file)
