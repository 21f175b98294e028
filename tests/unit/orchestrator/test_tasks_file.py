"""A graph that a person wrote: read whole, or refused with the place that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.tasks_file import BadTasksFile, PlannedTask, load_tasks

if TYPE_CHECKING:
    from pathlib import Path


def load(tmp_path: Path, text: str) -> list[PlannedTask]:
    path = tmp_path / "tasks.yaml"
    path.write_text(text, encoding="utf-8")
    return load_tasks(path)


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(BadTasksFile) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "tasks.yaml"))
    return caught.value.why


def test_every_field_is_read(tmp_path: Path) -> None:
    text = """
- {key: a, subject: First}
- key: b
  subject: Second
  description: All of it
  needs: [a]
  checks: [unit]
  role: tester
  priority: 2
  plan: true
"""
    assert load(tmp_path, text) == [
        PlannedTask(key="a", subject="First"),
        PlannedTask(
            key="b",
            subject="Second",
            description="All of it",
            needs=("a",),
            checks=("unit",),
            role="tester",
            priority=2,
            plan=True,
        ),
    ]


def test_each_task_comes_behind_those_it_needs(tmp_path: Path) -> None:
    text = "[{key: c, subject: C, needs: [b]}, {key: b, subject: B, needs: [a]}, {key: a, subject: A}]"
    assert [task.key for task in load(tmp_path, text)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("{subject: B}", "key is missing"),
        ("{key: b}", "subject is missing"),
        ("{key: b, subject: B, requires: [a]}", "there is no field requires"),
        ("{key: 1, subject: B}", "key must be a text that is not empty, not 1"),
        ("{key: b, subject: B, needs: a}", 'needs must be a list of keys, not "a"'),
        (
            "{key: b, subject: B, checks: [1]}",
            "a list of names of checks, or of commands, not [1]",
        ),
        ("{key: b, subject: B, plan: sometimes}", "plan must be true or false"),
        ("{key: b, subject: B, priority: high}", "priority must be a whole number from 0 to 9"),
        ("{key: b, subject: B, priority: 10}", "priority must be a whole number from 0 to 9, not 10"),
        ("{key: b, subject: B, priority: -1}", "priority must be a whole number from 0 to 9, not -1"),
        ("{key: b, subject: ' '}", "subject must be a text that is not empty"),
        ("{key: b, subject: 2026-01-01}", 'not "2026-01-01"'),
        ("{key: '', subject: B}", "key must be a text that is not empty"),
        ("{key: b, subject: B, role: front end}", "role must be the name of a role"),
        ("just words", "it must be a mapping of fields"),
    ],
)
def test_a_wrong_entry_is_named_with_its_field(tmp_path: Path, entry: str, named: str) -> None:
    why = complaint(tmp_path, f"[{{key: a, subject: A}}, {entry}]")
    assert why.startswith("task 2: ")
    assert named in why
    assert "the fields are key, subject, description, needs, checks, role, priority, plan" in why


def test_a_key_that_is_used_twice_is_named(tmp_path: Path) -> None:
    assert "'a' is used twice" in complaint(tmp_path, "[{key: a, subject: A}, {key: a, subject: B}]")


def test_a_need_that_is_no_key_is_named_with_its_task(tmp_path: Path) -> None:
    assert "'a' needs 'x'" in complaint(tmp_path, "[{key: a, subject: A, needs: [x]}]")


def test_a_task_that_needs_itself_is_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path, "[{key: a, subject: A, needs: [a]}]").endswith("a needs a")


def test_a_cycle_is_named_in_the_order_of_its_needs(tmp_path: Path) -> None:
    entries = [f"{{key: {key}, subject: S, needs: [{need}]}}" for key, need in ("ab", "bc", "ca")]
    circle = complaint(tmp_path, f"[{', '.join(entries)}]").rpartition(": ")[2].split(" needs ")
    assert "".join(circle) in {"abca", "bcab", "cabc"}


@pytest.mark.parametrize("text", ["", "[]", "key: a", "42"])
def test_what_is_no_list_of_tasks_is_refused(tmp_path: Path, text: str) -> None:
    assert "must be a list of tasks" in complaint(tmp_path, text)


def test_broken_yaml_is_one_line_with_its_place(tmp_path: Path) -> None:
    why = complaint(tmp_path, "- {key: a,\n subject: [")
    assert why.startswith("is no YAML")
    assert "line 2" in why
    assert "\n" not in why


def test_a_file_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BadTasksFile, match="cannot be read"):
        load_tasks(tmp_path / "none.yaml")
    (tmp_path / "tasks.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadTasksFile, match="no UTF-8 at byte 0; save it as UTF-8"):
        load_tasks(tmp_path / "tasks.yaml")
