"""The verb for what the team remembers: list, show, forget, audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import json_option, looking_verb, persons_stores, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.finding import Finding
    from harness.memory.record import Record

FAULTY = 1  # exit code of `audit` while something is wrong; notes do not count


@looking_verb
@json_option
@team_option
def memory(*, as_json: bool, team_directory: Path | None) -> None:
    """List what agents of this team are reminded of where it fits a request."""
    from harness.memory.store import MemoryStore

    look = MemoryStore(persons_stores(team_directory).team.directory).look()
    data = {
        "records": [_facts(record) for record in look.records],
        "unusable": [{"file": each.file, "why": each.why} for each in look.unusable],
        "characters": look.characters,
    }
    lines = [_row(record) for record in look.records] or ["nothing is remembered yet"]
    if look.unusable:
        lines.append(f"{len(look.unusable)} files cannot be used; see `leadhand memory audit`")
    show(data, as_json, lambda: "\n".join(lines))


@memory.command("show")
@click.argument("name")
@json_option
@team_option
def show_record(*, name: str, as_json: bool, team_directory: Path | None) -> None:
    """Show one record: what it says, and where it comes from. The begin of its name is enough."""
    from harness.memory.store import MemoryStore

    record = MemoryStore(persons_stores(team_directory).team.directory).find(name)
    show(_facts(record), as_json, lambda: _in_full(record))


@memory.command()
@click.argument("names", nargs=-1, required=True)
@team_option
def forget(*, names: tuple[str, ...], team_directory: Path | None) -> None:
    """Remove records; conversations that have recalled them keep them."""
    from harness.memory.store import MemoryStore

    stores = persons_stores(team_directory)
    store = MemoryStore(stores.team.directory)
    for record in [store.find(name) for name in names]:
        store.forget(record)
        stores.events.record("memory_forgotten", record=record.id)
        echo(f"forgotten: {record.id}")


@memory.command()
@json_option
@team_option
def audit(*, as_json: bool, team_directory: Path | None) -> int:
    """Tell which files cannot be used, hold a credential, repeat others, or come from elsewhere."""
    from orchestrator.inspection.memory_findings import inspect_memory

    found = list(inspect_memory(persons_stores(team_directory).team))
    show([finding.to_json() for finding in found], as_json, lambda: _audited(found))
    return FAULTY if any(finding.counts for finding in found) else 0


def _facts(record: Record) -> dict[str, Any]:
    from dataclasses import asdict

    return {"id": record.id, "file": record.file, "by_hand": record.is_by_hand, **asdict(record.note)}


def _row(record: Record) -> str:
    note = record.note
    who = "by hand" if record.is_by_hand else note.made_by.partition("~")[0]
    mark = "  (untrusted)" if note.untrusted else ""
    return f"{record.id:<50} {note.kind:<10} {who:<12} {note.description[:80]}{mark}"


def _in_full(record: Record) -> str:
    facts = {
        name: value if isinstance(value, str) else ", ".join(value)
        for name, value in _facts(record).items()
        if value and name not in {"body", "by_hand"}
    }
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()]
    return "\n".join(
        [*lines, *(["edited or made by hand"] if record.is_by_hand else []), "", record.note.body]
    )


def _audited(found: list[Finding]) -> str:
    lines = [f"{finding.severity}: {finding.where}: {finding.what} [{finding.code}]" for finding in found]
    wrong = sum(finding.counts for finding in found)
    return "\n".join([*lines, f"{wrong} findings" if wrong else "nothing is wrong with the memory"])
