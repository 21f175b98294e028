"""What real editors do to the readable copy of a task is taken over, or kept and told; never lost."""

from __future__ import annotations

import shutil
import subprocess  # noqa: TID251 - an editor is a process
import sys
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.records import Status
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import Team, create_team

if TYPE_CHECKING:
    from pathlib import Path


IN_PLACE = (
    "import sys; f = open(sys.argv[1], 'r+b'); text = f.read().replace(b'%s', b'%s'); "
    "f.seek(0); f.write(text); f.truncate()"
)
NOT_TRUNCATED = IN_PLACE.removesuffix("; f.truncate()")


def vim(*commands: str) -> list[str]:
    return ["vim", "-u", "NONE", "-es", *(f"+{command}" for command in commands), "@"]


def python(script: str, old: str, new: str) -> list[str]:
    return [sys.executable, "-c", script % (old, new), "@"]


OLD, NEW = '"priority": 5', '"priority": 2'
EDITORS = {
    "vim": vim(f"%s/{OLD}/{NEW}/", "wq"),
    "vim in place": vim("set backupcopy=yes", f"%s/{OLD}/{NEW}/", "wq"),
    "vim by renaming": vim("set backupcopy=no", f"%s/{OLD}/{NEW}/", "wq"),
    "ex": ["ex", "-s", f"+%s/{OLD}/{NEW}/", "+wq", "@"],
    "sed": ["sed", "-i", f"s/{OLD}/{NEW}/", "@"],
    "sed with a backup": ["sed", "-i~", f"s/{OLD}/{NEW}/", "@"],
    "in place": python(IN_PLACE, OLD, NEW),
    "in place, as one line": python(
        IN_PLACE.replace("f.seek", "text = text.replace(b'\\n', b' '); f.seek"), OLD, NEW
    ),
}
BROKEN = {
    "appended": ["sh", "-c", 'echo \'"priority": 2\' >> "$0"', "@"],
    "in place and not truncated": python(NOT_TRUNCATED, '"some work"', '"work"'),
    "cut by sed": ["sed", "-i", "$d", "@"],
}


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return create_team(tmp_path, tmp_path)


@pytest.fixture
def store(team: Team) -> TaskStore:
    return TaskStore(team, "lead~1")


@pytest.fixture
def task_id(store: TaskStore) -> str:
    [task] = store.create([TaskDraft(subject="some work")])
    store.publish([task.id])
    store.refresh_views()
    return task.id


def edit(team: Team, task_id: str, command: list[str]) -> None:
    """The editor has saved and is gone."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    path = team.root / layout.task_view(task_id)
    before = path.read_bytes()
    arguments = [str(path) if argument == "@" else argument for argument in command]
    ended = subprocess.run(arguments, capture_output=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    assert path.read_bytes() != before, ended


def kept(team: Team, task_id: str) -> list[bytes]:
    return [path.read_bytes() for path in (team.root / layout.TASKS).glob(f"{task_id}.conflict-*.json")]


@pytest.mark.parametrize("command", EDITORS.values(), ids=EDITORS.keys())
def test_an_edit_of_the_newest_version_becomes_the_next(
    team: Team, store: TaskStore, task_id: str, command: list[str]
) -> None:
    edit(team, task_id, command)
    store.repair()
    task = store.get(task_id)
    assert (task.priority, task.subject, task.by, task.event) == (2, "some work", "person", "edit")
    assert store.problems == {}
    assert [number for number, _ in store.history(task_id)] == [1, 2, 3]


@pytest.mark.parametrize("command", EDITORS.values(), ids=EDITORS.keys())
def test_an_edit_of_an_older_version_is_kept_beside(
    team: Team, store: TaskStore, task_id: str, command: list[str]
) -> None:
    TaskStore(team, "alice~2").claim(task_id, Claimant(name="alice", incarnation=2))
    edit(team, task_id, command)
    store.repair()
    [copy] = kept(team, task_id)
    assert NEW.encode() in copy.replace(b":2", b": 2")
    assert f"{task_id}.conflict-3.json" in store.problems[task_id]
    assert (store.get(task_id).status, store.get(task_id).priority) == (Status.IN_PROGRESS, 5)


@pytest.mark.parametrize("command", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_task_any_more_is_kept_beside_and_told(
    team: Team, store: TaskStore, task_id: str, command: list[str]
) -> None:
    edit(team, task_id, command)
    broken = (team.root / layout.task_view(task_id)).read_bytes()
    store.repair()  # perhaps the editor is just saving
    store.repair()
    assert kept(team, task_id) == [broken]
    assert "conflict" in store.problems[task_id]
    assert store.get(task_id).subject == "some work"
    assert store.claim_next(Claimant(name="alice", incarnation=2))


def test_a_newline_at_the_end_is_no_edit(team: Team, store: TaskStore, task_id: str) -> None:
    edit(team, task_id, ["sh", "-c", 'echo >> "$0"', "@"])
    store.repair()
    assert len(store.history(task_id)) == 2
    assert store.problems == {}


def test_what_an_editor_leaves_beside_stops_nobody(team: Team, store: TaskStore, task_id: str) -> None:
    for name in (f".{task_id}.json.swp", f"{task_id}.json~", "4913", f"#{task_id}.json#"):
        (team.root / layout.TASKS / name).write_bytes(b"left by an editor")
    edit(team, task_id, ["sed", "-i", f"s/{OLD}/{NEW}/", "@"])
    store.repair()
    assert store.get(task_id).priority == 2
    assert store.problems == {}
