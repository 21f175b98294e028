"""The readable copies: when they are written, and what becomes of a person's edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from coordination import layout
from coordination.numbered_log import pretty
from coordination.records import Status
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import Team
from tests.support.courtesy import LOCKS, lock_of
from tests.support.faulty_directory import FaultyDirectory

if TYPE_CHECKING:
    from pathlib import Path


ALICE = Claimant(name="alice", incarnation=7)


@pytest.fixture(params=LOCKS)  # a courtesy: without it all stays the same
def store(team: Team, request: pytest.FixtureRequest) -> TaskStore:
    return TaskStore(team, "lead~1", lock=lock_of(team, request.param))


@pytest.fixture
def task_id(store: TaskStore) -> str:
    [task] = store.create([TaskDraft(subject="some work")])
    store.publish([task.id])
    store.refresh_views()
    return task.id


def view(team: Team, task_id: str) -> Path:
    return team.root / layout.task_view(task_id)


def shown(team: Team, task_id: str) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(view(team, task_id).read_bytes())
    return document


def edit(team: Team, task_id: str, **fields: object) -> None:
    view(team, task_id).write_bytes(pretty(shown(team, task_id) | fields))


def conflicts(team: Team, task_id: str) -> list[Path]:
    return sorted((team.root / ".tasks").glob(f"{task_id}.conflict-*.json"))


def test_the_copy_is_the_newest_record_in_a_file_of_its_own(team: Team, task_id: str) -> None:
    record = team.root / layout.record(layout.task_log(task_id), 2)
    assert view(team, task_id).read_bytes() == record.read_bytes()
    assert view(team, task_id).stat().st_ino != record.stat().st_ino


def test_a_person_sees_what_it_is_and_where_it_stands_at_the_top(team: Team, task_id: str) -> None:
    keys = list(shown(team, task_id))
    assert {"subject", "status"} <= set(keys[:3])
    assert keys[-1] == "digest"


def test_a_change_shows_after_the_refresh(store: TaskStore, team: Team, task_id: str) -> None:
    store.claim(task_id, ALICE)
    assert shown(team, task_id)["status"] == "pending"
    store.refresh_views()
    assert (shown(team, task_id)["status"], shown(team, task_id)["owner"]) == ("in_progress", "alice")


def test_an_older_process_does_not_turn_a_copy_back(store: TaskStore, team: Team, task_id: str) -> None:
    slow = TaskStore(team, "bob~2")
    slow.get(task_id)
    store.claim(task_id, ALICE)
    store.refresh_views()
    slow.refresh_views()
    assert shown(team, task_id)["status"] == "in_progress"


@pytest.mark.parametrize("text", [None, b""], ids=["deleted", "empty after a crash"])
def test_a_lost_copy_is_written_anew(store: TaskStore, team: Team, task_id: str, text: bytes | None) -> None:
    view(team, task_id).unlink()
    if text is not None:
        view(team, task_id).write_bytes(text)
    store.repair()
    assert shown(team, task_id)["subject"] == "some work"


def test_a_hand_edit_of_the_newest_version_is_the_next_version(
    store: TaskStore, team: Team, task_id: str
) -> None:
    edit(team, task_id, subject="better words", priority=1, note="from Pat")
    store.repair()
    task = store.get(task_id)
    assert (task.subject, task.priority, task.by, task.event) == ("better words", 1, "person", "edit")
    assert task.unknown == {"note": "from Pat"}
    assert shown(team, task_id)["number"] == 3
    assert not conflicts(team, task_id)


def test_an_adopted_edit_moves_the_task_in_the_row(store: TaskStore, team: Team, task_id: str) -> None:
    [urgent] = store.publish([store.create([TaskDraft(subject="urgent", priority=1)])[0].id])
    edit(team, task_id, priority=0)
    store.repair()
    first = store.claim_next(ALICE)
    assert first
    assert (first.id, urgent.priority) == (task_id, 1)


def test_a_hand_edit_of_an_older_version_is_kept_aside(store: TaskStore, team: Team, task_id: str) -> None:
    edit(team, task_id, subject="better words")
    store.cancel(task_id, "not wanted")
    store.refresh_views()
    [kept] = conflicts(team, task_id)
    assert msgspec.json.decode(kept.read_bytes())["subject"] == "better words"
    assert kept.name in store.problems[task_id]
    assert shown(team, task_id)["status"] == "cancelled"


@pytest.mark.parametrize(
    "wrong",
    [{"status": "completed"}, {"owner": "eve"}, {"priority": "high"}, {"blocked_by": ["task_ffffffff"]}],
)
def test_an_edit_that_cannot_be_is_kept_aside_and_names_the_field(
    store: TaskStore, team: Team, task_id: str, wrong: dict[str, object]
) -> None:
    edit(team, task_id, **wrong)
    store.repair()
    assert next(iter(wrong)) in store.problems[task_id]
    assert len(conflicts(team, task_id)) == 1
    assert store.get(task_id).status is Status.PENDING


def test_no_kept_edit_overwrites_another(store: TaskStore, team: Team, task_id: str) -> None:
    for owner in ("eve", "mallory"):
        edit(team, task_id, owner=owner)
        store.repair()
    owners = {msgspec.json.decode(path.read_bytes())["owner"] for path in conflicts(team, task_id)}
    assert owners == {"eve", "mallory"}


@pytest.mark.parametrize("half", [b'{"subject": "half', b'{"subject": ' + b"[" * 100_000])
def test_a_file_that_an_editor_is_just_saving_is_left_until_it_stays_broken(
    store: TaskStore, team: Team, task_id: str, half: bytes
) -> None:
    view(team, task_id).write_bytes(half)
    store.repair()
    assert view(team, task_id).read_bytes() == half
    store.repair()
    assert conflicts(team, task_id)[0].read_bytes() == half
    assert shown(team, task_id)["subject"] == "some work"


def test_a_copy_of_another_task_is_kept_aside(store: TaskStore, team: Team, task_id: str) -> None:
    [other] = store.create([TaskDraft(subject="other")])
    store.refresh_views()
    view(team, task_id).write_bytes(view(team, other.id).read_bytes())
    store.repair()
    assert len(conflicts(team, task_id)) == 1
    assert shown(team, task_id)["subject"] == "some work"


def test_a_link_in_the_place_of_a_copy_is_reported_and_not_followed(
    store: TaskStore, team: Team, task_id: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.json"
    outside.write_bytes(b"{}")
    view(team, task_id).unlink()
    view(team, task_id).symlink_to(outside)
    store.repair()
    assert "not a regular file" in store.problems[task_id]
    assert outside.read_bytes() == b"{}"


def test_a_copy_that_another_host_replaces_at_this_moment_is_left_to_the_next_look(
    team: Team, task_id: str
) -> None:
    mount = FaultyDirectory(team.root, clock=team.clock)
    own = Team(id=team.id, directory=mount, repository=team.root, clock=team.clock)
    store = TaskStore(own, "lead~1")
    store.claim(task_id, ALICE)
    mount.unreadable[layout.task_view(task_id)] = 1  # ESTALE, as on GlusterFS and NFS
    store.refresh_views()
    assert shown(team, task_id)["status"] == "pending"
    store.refresh_views()
    assert shown(team, task_id)["status"] == "in_progress"
    assert not store.problems
    assert not conflicts(team, task_id)
