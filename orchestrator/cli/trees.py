"""The verbs for worktrees: look at them, remove one, clear away what is no longer needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.shared import json_option, looking_verb, persons_stores, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from workspace.clearing.inventory import Tree
    from workspace.clearing.removal import Removal

USAGE = 2  # exit code when a name means no tree
KEPT = 1  # exit code when a tree that was named had to stay


@looking_verb
@json_option
@team_option
def worktrees(*, as_json: bool, team_directory: Path | None) -> None:
    """Show every worktree of the team: whose it is, how large, and why it stays; or remove one."""
    removal = _removal(team_directory)
    rows = [_row(tree, removal) for tree in removal.inventory().all()]
    show(rows, as_json, lambda: "\n".join(_lines(rows)) or "no worktrees")


@worktrees.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--discard", is_flag=True, help="Also with files that are in no commit: they are lost.")
@json_option
@team_option
def remove_worktree(
    *,
    names: tuple[str, ...],
    discard: bool,
    as_json: bool,
    team_directory: Path | None,
) -> int:
    """Remove worktrees; one that is in use or holds work stays, and its branches stay always."""
    from coordination.errors import TeamError

    removal = _removal(team_directory)
    done: list[dict[str, Any]] = []
    for name in names:
        try:
            removal.remove(name, discard=discard)
            done.append({"name": name, "removed": True, "code": None, "why": ""})
        except TeamError as error:
            done.append({"name": name, "removed": False, "code": error.reason, "why": str(error)})
    unknown = [row for row in done if row["code"] == "no_such_tree"]
    told = [row["why"] or f"{row['name']} is removed" for row in done if row not in unknown]
    if as_json or told:
        show(done, as_json, lambda: "\n".join(told))
    for row in unknown:
        echo(f"leadhand: {row['why']}", err=True)
    if unknown:
        return USAGE
    return 0 if all(row["removed"] for row in done) else KEPT


@click.command()
@click.option("--yes", is_flag=True, help="Remove the trees with which nothing is lost.")
@click.option("--ignored", is_flag=True, help="With --yes: also those whose only extra files git ignores.")
@json_option
@team_option
def clean(*, yes: bool, ignored: bool, as_json: bool, team_directory: Path | None) -> None:
    """List what could go, how large it is and what would be lost; with --yes remove what holds nothing."""
    removal = _removal(team_directory)
    rows = [_row(tree, removal) for tree in removal.inventory().all()]
    if yes:
        for row in rows:
            row["removed"] = _may_go(row, ignored=ignored) and _remove(removal, row)
        removal.sweep()
    show(rows, as_json, lambda: _groups(rows, removed=yes))


def _removal(team_directory: Path | None) -> Removal:
    from harness.settings.settings import load_settings
    from workspace.clearing.removal import Removal
    from workspace.git import Git
    from workspace.workplace import Workplace

    stores = persons_stores(team_directory)
    place = Workplace(stores.team, Git(stores.team.repository), load_settings(stores.team.root))
    return Removal(stores, place.git, place.trees())


def _row(tree: Tree, removal: Removal) -> dict[str, Any]:
    from workspace.clearing.inventory import size_of

    refusal = removal.refusal(tree)
    return {
        "name": tree.name,
        "path": tree.recorded,
        "task": tree.task.id if tree.task else None,
        "subject": tree.task.subject if tree.task else ("checks run in it" if tree.is_runtimes else ""),
        "status": str(tree.task.status) if tree.task else None,
        "merged": bool(tree.task and tree.task.merged),
        "head": tree.registered.head if tree.registered else None,
        "exists": tree.exists,
        "bytes": size_of(tree.path),
        "kept": refusal.code if refusal else None,
        "why": refusal.why if refusal else "",
    }


def _lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    width = max((len(row["name"]) for row in rows), default=0)
    return [_line(row, width) for row in rows]


def _line(row: dict[str, Any], width: int) -> str:
    size = f"{row['bytes'] / 1e6:.1f} MB" if row["exists"] else "gone"
    what = f"{row['subject']} [{row['status']}]" if row["status"] else row["subject"] or "of no task"
    stays = f"kept: {row['why']}" if row["why"] else "may go"
    return f"{_mark(row)}{row['name']:<{width}}  {size:>9}  {what}; {stays}"


def _may_go(row: dict[str, Any], *, ignored: bool) -> bool:
    return row["kept"] is None or (ignored and row["kept"] == "ignored_files")


def _remove(removal: Removal, row: dict[str, Any]) -> bool:
    from workspace.clearing.removal import PartlyRemoved, TreeKept

    try:
        removal.remove(row["name"], discard=row["kept"] == "ignored_files")
    except (TreeKept, PartlyRemoved) as error:  # something has happened in it since it was looked at
        row["why"] = str(error)
        return False
    return True


def _groups(rows: list[dict[str, Any]], *, removed: bool) -> str:
    titles = {
        "nothing is lost with these": [row for row in rows if row["kept"] is None],
        "only files that git ignores are lost with these": [
            row for row in rows if row["kept"] == "ignored_files"
        ],
        "these stay": [row for row in rows if row["kept"] not in {None, "ignored_files"}],
    }
    lines: list[str] = []
    for title, group in titles.items():
        if group:
            size = sum(row["bytes"] for row in group) / 1e6
            lines += [f"{title} ({size:.1f} MB):", *(f"  {line}" for line in _lines(group))]
    if not lines:
        return "no worktrees"
    return "\n".join([*lines, *([] if removed else _hints(rows))])


def _hints(rows: list[dict[str, Any]]) -> list[str]:
    """How each group that is there would go."""
    kept = {row["kept"] for row in rows}
    hints = {
        None: "those with nothing to lose go with `leadhand clean --yes`",
        "ignored_files": "those with ignored files only go with `leadhand clean --yes --ignored`",
    }
    return [hint for kind, hint in hints.items() if kind in kept]


def _mark(row: dict[str, Any]) -> str:
    return "removed: " if row.get("removed") else ""
