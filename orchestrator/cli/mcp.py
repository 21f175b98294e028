"""The verb that looks at MCP servers: list, check, accept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import config_option, json_option, looking_verb, place_of, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from orchestrator.inspection.mcp_look import Look

FAILED = 1  # exit code of `check` while a configured server cannot be used


@looking_verb
@config_option
@json_option
@team_option
def mcp(*, mcp_config: tuple[str, ...], as_json: bool, team_directory: Path | None) -> None:
    """List the MCP servers that agents may connect; nothing is started."""
    from orchestrator.inspection.mcp_look import listed

    look = _look(team_directory, mcp_config)
    rows = listed(look)
    show({"servers": rows, "notes": _notes(look)}, as_json, lambda: _text(rows, _notes(look)))


@mcp.command()
@config_option
@json_option
@team_option
def check(*, mcp_config: tuple[str, ...], as_json: bool, team_directory: Path | None) -> int:
    """Connect every server once and tell what it says; exit code 1 if one cannot be used."""
    from orchestrator.inspection.mcp_look import check as check_all

    look = _look(team_directory, mcp_config)
    _refuse_unseen(look)
    rows = check_all(look)
    show({"servers": rows, "notes": _notes(look)}, as_json, lambda: _text(rows, _notes(look)))
    bad = any(row["status"] in {"error", "missing"} or row.get("health") == "failed" for row in rows)
    return FAILED if bad or look.merged.errors else 0


@mcp.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Accept without a question.")
@config_option
@team_option
def accept(*, name: str, yes: bool, mcp_config: tuple[str, ...], team_directory: Path | None) -> None:
    """Show what the tools of a server say otherwise than before, and accept it."""
    from orchestrator.inspection.mcp_look import changes_of
    from orchestrator.lead.opening import find_team

    look, team = _look(team_directory, mcp_config), find_team(Path.cwd(), team_directory)
    _refuse_unseen(look)
    found = changes_of(look, team, name, accept=False)
    if not found:
        echo(f"the tools of {name} say what was accepted")
        return
    for change in found:
        echo(f"{name}/{change.tool}:\n{change.difference}\n")
    if yes or click.confirm("accept all of this?", default=False):
        accepted = changes_of(look, team, name, accept=True)
        echo(f"accepted: {', '.join(change.tool for change in accepted)}")


def _look(team_directory: Path | None, mcp_config: tuple[str, ...]) -> Look:
    from coordination.child import tool_environment
    from harness.catalogs import find_servers
    from harness.settings.settings import load_settings
    from orchestrator.inspection.mcp_look import Look

    root, repository, team = place_of(team_directory)
    settings = load_settings(root, {"mcp.config": list(mcp_config) or None})
    return Look(
        settings=settings,
        root=root,
        merged=find_servers(repository, settings),
        repository=repository,
        environment=tool_environment(passed=settings.environment_pass),
        team=team,
    )


def _refuse_unseen(look: Look) -> None:
    """Before a server is started. Raises NotTrusted."""
    from harness.trust.records import Place
    from orchestrator.trusting import seen_catalogs

    seen_catalogs(Place(root=look.root, repository=look.repository), look.settings)


def _notes(look: Look) -> list[str]:
    return [note.text for note in (*look.merged.errors, *look.merged.warnings)]


def _text(rows: list[dict[str, Any]], notes: list[str]) -> str:
    lines = [line for row in rows for line in _lines(row)]
    return "\n".join([*(lines or ["no MCP servers"]), *notes])


def _lines(row: dict[str, Any]) -> list[str]:
    state = row.get("health") or row["status"]
    lines = [f"{row['name']:<20} {state:<9} {row.get('transport', '-'):<6} {row.get('starts', '')}"]
    lines[0] += f"  ({row['source']}{', shared' if row.get('shared') else ''})"
    if "server" in row:
        lines.append(f"    {row['server']}, protocol {row['protocol']}, {len(row['tools'])} tools")
        for tool in row["tools"]:
            changed = "  CHANGED: see `leadhand mcp accept`" if tool["changed"] else ""
            lines.append(f"      {tool['policy']:<6} {tool['name']}{changed}")
    if row.get("connecting") and "server" not in row:
        lines.append(f"    an agent that connects it: {row['connecting']}")
    lines += [f"    {note}" for note in [*row["notes"], *row.get("not_offered", [])]]
    return [*lines, *([f"    {row['why']}"] if "why" in row else [])]
