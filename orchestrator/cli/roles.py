"""The verb that looks at roles: list, show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import begin_of, json_option, looking_verb, place_of, show, team_option

if TYPE_CHECKING:
    from pathlib import Path

    from harness.roles.catalog import RoleCatalog
    from harness.roles.role import Role

FAULTY = 1  # exit code while a role cannot be used


@looking_verb
@json_option
@team_option
def roles(*, as_json: bool, team_directory: Path | None) -> int | None:
    """List the roles that teammates can have, and what is wrong in their files, as the disk has it now.

    The exit code is 1 if one of them cannot be used.
    """
    catalog = _catalog(team_directory)
    show(_list(catalog), as_json, lambda: _table(catalog))
    return FAULTY if catalog.broken else 0


@roles.command("show")
@click.argument("name")
@json_option
@team_option
def show_role(*, name: str, as_json: bool, team_directory: Path | None) -> None:
    """Show one role: what its members are told, with which tools and which model."""
    from dataclasses import asdict

    from harness.roles.catalog import UnknownRole

    catalog = _catalog(team_directory)
    role = catalog.role(name)
    if role is None:
        raise UnknownRole(role=name, known=", ".join(catalog.roles) or "none")
    show(asdict(role), as_json, lambda: _in_full(role))


def _catalog(team_directory: Path | None) -> RoleCatalog:
    from harness.roles.catalog import scan_roles
    from harness.settings.settings import load_settings

    root, repository, _ = place_of(team_directory)
    return scan_roles(repository, load_settings(root).role_models)


def _list(catalog: RoleCatalog) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "name": role.name,
            "description": role.description,
            "file": role.source,
            "model": role.model,
            "tools": role.tools,
            "without": role.without,
        }
        for role in catalog.roles.values()
    ]
    problems = [
        {"path": reading.path, "line": problem.line, "severity": str(problem.severity)}
        | {"code": problem.code, "text": problem.text}
        for reading in catalog.readings
        for problem in reading.problems
    ]
    return {"roles": rows, "problems": problems}


def _table(catalog: RoleCatalog) -> str:
    from harness.roles.catalog import PLACES

    lines = [
        f"{role.name:<16} {role.model or 'as others':<20} {begin_of(role.description)} ({role.says_tools})"
        for role in catalog.roles.values()
    ] or [f"no roles; a file in {' or '.join(PLACES)} describes one"]
    lines += [problem.at(reading.path) for reading in catalog.readings for problem in reading.problems]
    return "\n".join(lines)


def _in_full(role: Role) -> str:
    lines = [f"{role.name}: {role.description}", "", f"file: {role.source}", f"digest: {role.digest}"]
    lines += [f"model: {role.model or 'that of the other teammates'}", f"tools: {role.says_tools}"]
    return "\n".join([*lines, "", role.prompt])
