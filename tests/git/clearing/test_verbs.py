"""What a person sees of trees and does with them by command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from orchestrator.cli.init import init
from orchestrator.cli.trees import clean, worktrees

if TYPE_CHECKING:
    import click
    import pytest

    from tests.git.clearing.conftest import Yard


def says(yard: Yard, verb: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(
        verb, [*arguments, "--team", str(yard.team.root)], catch_exceptions=False, standalone_mode=False
    )


def rows(yard: Yard, verb: click.Command, *arguments: str) -> dict[str, dict[str, Any]]:
    found = json.loads(says(yard, verb, *arguments, "--json").output)
    return {row["name"]: row for row in found}


def test_every_tree_is_listed_with_its_task_its_size_and_why_it_stays(yard: Yard) -> None:
    over, held = yard.done(), yard.done("bob", other="1")
    (yard.path(held) / "notes.txt").write_text("work")
    listed = rows(yard, worktrees)
    assert (listed[yard.name(over)]["kept"], listed[yard.name(over)]["merged"]) == (None, True)
    assert (listed[yard.name(held)]["kept"], listed[yard.name(held)]["task"]) == ("work", held.id)
    assert listed[yard.name(held)]["bytes"] > 0
    lines = says(yard, worktrees).output.splitlines()
    assert [line.rpartition("; ")[2] for line in lines if line.startswith(yard.name(over))] == ["may go"]


def test_one_is_removed_by_name_and_another_kept_with_the_reason(yard: Yard) -> None:
    over, held = yard.done(), yard.done("bob", other="1")
    (yard.path(held) / "notes.txt").write_text("work")
    ended = says(yard, worktrees, "remove", yard.name(over), yard.name(held))
    assert ended.return_value == 1
    assert f"{yard.name(over)} is removed" in ended.output
    assert f"{yard.name(held)} is kept: it holds changes that no commit has: notes.txt" in ended.output
    assert yard.is_gone(over)
    assert yard.path(held).is_dir()
    assert says(yard, worktrees, "remove", "--discard", yard.name(held)).return_value == 0
    assert yard.is_gone(held)


def test_a_name_that_means_no_tree_is_a_mistake_of_the_caller(yard: Yard) -> None:
    over = yard.done()
    ended = says(yard, worktrees, "remove", yard.name(over), "nope")
    assert (ended.return_value, ended.stdout) == (2, f"{yard.name(over)} is removed\n")
    assert ended.stderr.startswith("leadhand: there is no worktree nope; there are: ")


def test_clean_lists_first_and_removes_only_what_holds_nothing(yard: Yard) -> None:
    (yard.repository.path / ".git/info/exclude").write_text("*.secret\n")
    over, ignored, held = yard.done(), yard.done("bob", other="1"), yard.done("carol", third="1")
    (yard.path(ignored) / "a.secret").write_text("x")
    (yard.path(held) / "notes.txt").write_text("work")
    listing = says(yard, clean).output
    assert listing.index(yard.name(over)) < listing.index("only files that git ignores")
    assert "leadhand clean --yes" in listing
    assert yard.path(over).is_dir()
    removed = rows(yard, clean, "--yes")
    assert [row["removed"] for row in (removed[yard.name(task)] for task in (over, ignored, held))] == [
        True,
        False,
        False,
    ]
    rows(yard, clean, "--yes", "--ignored")
    assert yard.is_gone(ignored)
    assert (yard.path(held) / "notes.txt").read_text() == "work"


def test_trees_outside_the_repository_are_found_too(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    place = yard.team.root.parent / "trees"
    monkeypatch.setenv("LEADHAND_WORKTREES_DIR", str(place))
    name = f"{yard.team.root.name}-{yard.team.id}"
    yard.trees.directory = place / name
    task = yard.done()
    assert task.worktree == f"../trees/{name}/{yard.name(task)}"
    assert list(rows(yard, worktrees)) == [yard.name(task)]
    assert says(yard, worktrees, "remove", yard.name(task)).output == f"{yard.name(task)} is removed\n"
    assert yard.is_gone(task)


# init


def test_init_writes_nothing_without_the_person_s_word(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.repository.write({"go.mod": "module a\n"})
    monkeypatch.chdir(yard.team.root)
    shown = says(yard, init).output
    assert "go test ./..." in shown
    assert "bash(go test *)" in shown
    assert "nothing is written" in shown
    assert not (yard.team.root / "leadhand.yaml").exists()
    assert json.loads(says(yard, init, "--json").output)["written"] is False
    assert json.loads(says(yard, init, "--json", "--yes").output)["written"] is True
    assert "go mod download" in (yard.team.root / "leadhand.yaml").read_text()
    assert "stays as it is" in says(yard, init, "--yes").output
    for name in ("go.mod", "leadhand.yaml"):
        (yard.team.root / name).unlink()
