"""The verb that looks at skills: list, check, show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from coordination.errors import UsageError
from orchestrator.cli.shared import begin_of, json_option, looking_verb, place_of, show, team_option

if TYPE_CHECKING:
    from pathlib import Path

    from harness.settings.settings import Settings
    from harness.skills.catalog import Catalog
    from harness.skills.skill import Skill

FAULTY = 1  # exit code of `check` while a skill cannot be loaded


@looking_verb
@click.option("--tokens", "with_tokens", is_flag=True, help="Show what each would take of a conversation.")
@json_option
@team_option
def skills(*, with_tokens: bool, as_json: bool, team_directory: Path | None) -> None:
    """List the skills that agents may load, as the disk has them now."""
    catalog, settings = _catalog(team_directory)
    show(_list(catalog, settings), as_json, lambda: _table(catalog, settings, with_tokens=with_tokens))


@skills.command()
@json_option
@team_option
def check(*, as_json: bool, team_directory: Path | None) -> int:
    """Tell all that is wrong with skills, and what their authors should look at.

    The exit code is 1 if a skill cannot be loaded at all.
    """
    from harness.skills.advice import advice

    catalog, settings = _catalog(team_directory)
    problems = [
        {"path": reading.path, "line": problem.line, "severity": str(problem.severity), "code": problem.code}
        | {"text": problem.text}
        for reading in catalog.readings
        for problem in reading.problems
    ]
    told = list(advice(catalog, catalog_tokens=settings.skills_catalog_tokens))
    lines = [problem.at(reading.path) for reading in catalog.readings for problem in reading.problems]
    lines += [f"advice: {text}" for text in told]
    data = {"skills": len(catalog.skills), "problems": problems, "advice": told}
    show(data, as_json, lambda: "\n".join([*lines, f"{len(catalog.skills)} skills can be loaded"]))
    return FAULTY if any(reading.errors for reading in catalog.readings) else 0


@skills.command("show")
@click.argument("name")
@json_option
@team_option
def show_skill(*, name: str, as_json: bool, team_directory: Path | None) -> None:
    """Show one skill: its text, its files, the commands it names, where it comes from."""
    catalog, _ = _catalog(team_directory)
    skill = catalog.skills.get(name)
    if skill is None:
        known = ", ".join(catalog.skills) or "none"
        raise UsageError(
            detail=f"there is no skill {name}; known are {known}; `leadhand skills check` tells of others"
        )
    show(_facts(skill), as_json, lambda: _in_full(skill))


def _catalog(team_directory: Path | None) -> tuple[Catalog, Settings]:
    """What the disk holds at this moment."""
    from harness.catalogs import find_catalogs
    from harness.settings.settings import load_settings

    root, repository, _ = place_of(team_directory)
    settings = load_settings(root)
    return find_catalogs(root, repository, settings).skills, settings


def _tokens(skill: Skill) -> int:
    from harness.skills.skill import tokens_of

    return tokens_of(skill.body)


def _list(catalog: Catalog, settings: Settings) -> dict[str, Any]:
    from harness.skills.skill import tokens_of

    rows = [
        {"name": skill.name, "description": skill.description, "source": skill.source}
        | {"directory": skill.directory, "digest": skill.digest, "tokens": _tokens(skill)}
        for skill in catalog.skills.values()
    ]
    return {
        "skills": rows,
        "catalog_tokens": tokens_of(catalog.section),
        "budget_tokens": settings.skills_budget_tokens,
        "problems": sum(len(reading.problems) for reading in catalog.readings),
    }


def _table(catalog: Catalog, settings: Settings, *, with_tokens: bool) -> str:
    data = _list(catalog, settings)
    lines = [
        f"{row['name']:<24} {row['source']:<18}"
        + (f" {row['tokens']:>6} tokens" if with_tokens else f" {begin_of(row['description'])}")
        for row in data["skills"]
    ] or ["no skills"]
    if with_tokens:
        lines.append(
            f"{'the list itself':<43} {data['catalog_tokens']:>6} tokens; a conversation may hold "
            f"{data['budget_tokens']} of list, bodies and resources (skills.budget_tokens)"
        )
    if data["problems"]:
        lines.append(f"{data['problems']} problems; see `leadhand skills check`")
    return "\n".join(lines)


def _facts(skill: Skill) -> dict[str, Any]:
    from dataclasses import asdict

    from harness.skills.advice import commands_of

    return asdict(skill) | {"commands": commands_of(skill), "tokens": _tokens(skill)}


def _in_full(skill: Skill) -> str:
    facts = _facts(skill)
    rows = {
        "source": f"{skill.source}, {skill.directory}",
        "digest": skill.digest,
        "tokens": str(facts["tokens"]),
        "licence": skill.license,
        "needs": skill.compatibility,
        "tools": f"{', '.join(skill.allowed_tools)} (shown, not granted)" if skill.allowed_tools else "",
        "files": ", ".join(skill.resources),
    }
    lines = [f"{skill.name}: {skill.description}", ""]
    lines += [f"{name}: {value}" for name, value in rows.items() if value]
    lines += (
        ["", "commands it names:", *(f"  {line}" for line in facts["commands"])] if facts["commands"] else []
    )
    return "\n".join([*lines, "", skill.body])
