from __future__ import annotations

import json
import os
import threading
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import NewerFormat
from coordination.team_root import ForeignDirectory, NoTeam, create_team, find_root, open_team

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


def test_a_created_team_can_be_opened(root: Path) -> None:
    made = create_team(root, root)
    assert open_team(root).id == made.id


def test_creating_twice_opens_the_first(root: Path) -> None:
    assert create_team(root, root).id == create_team(root, root).id


def test_two_that_create_at_once_have_one_team(root: Path) -> None:
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(create_team(root, root).id)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 4
    assert len(set(ids)) == 1


class Killed(BaseException):
    """Stands for the death of the process: no handler takes it."""


def left_after(calls: int, root: Path, patch: pytest.MonkeyPatch) -> bool:
    """Whether a creation was cut short, before the system call after so many that change something."""
    left = iter(range(calls))

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if next(left, None) is None:
                raise Killed
            return real(*arguments, **named)

        return call

    with patch.context() as patched:
        for name in ("mkdir", "write", "link", "fsync", "unlink"):  # unlink: temporaries stay
            patched.setattr(os, name, counted(getattr(os, name)))
        try:
            create_team(root, root)
        except Killed:
            return True
    return False


def test_a_creation_that_was_cut_short_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = 0
    for calls in count():
        (root := tmp_path / str(calls)).mkdir()
        if not left_after(calls, root, monkeypatch):
            break
        cuts += 1
        assert create_team(root, root).root == root
    assert cuts > len(layout.TOP_LEVEL)


def test_a_team_that_appears_while_its_place_is_looked_at_is_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def meanwhile(path: Path) -> bool:
        monkeypatch.undo()
        made.append(create_team(root, root).id)
        (root / layout.MAILBOXES / "alice.d").mkdir()
        return path.is_symlink()

    monkeypatch.setattr(Path, "is_symlink", meanwhile)
    assert [create_team(root, root).id] == made


def test_the_repository_is_kept_relative_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "old/team").mkdir(parents=True)
    (tmp_path / "old/repository").mkdir()
    create_team(tmp_path / "old/team", tmp_path / "old/repository")
    (tmp_path / "old").rename(tmp_path / "new")
    assert open_team(tmp_path / "new/team").repository == tmp_path / "new/repository"


def test_a_directory_without_a_team_is_none(root: Path) -> None:
    with pytest.raises(NoTeam, match="leadhand init"):
        open_team(root)


@pytest.mark.parametrize("name", layout.TOP_LEVEL)
def test_a_directory_that_is_in_use_is_not_taken_over(root: Path, name: str) -> None:
    (root / name).mkdir()
    (root / name / "theirs").write_text("x")
    with pytest.raises(ForeignDirectory, match="--team"):
        create_team(root, root)
    assert [path.name for path in root.iterdir()] == [name]


@pytest.mark.parametrize("name", layout.TOP_LEVEL)
def test_a_file_or_link_in_the_place_of_a_directory_is_refused(root: Path, name: str) -> None:
    (root / name).symlink_to(root.parent)
    with pytest.raises(ForeignDirectory):
        create_team(root, root)
    (root / name).unlink()
    (root / name).write_text("x")
    with pytest.raises(ForeignDirectory):
        create_team(root, root)


def test_a_readme_in_the_place_of_ours_is_no_use_of_it(root: Path) -> None:
    for name in (layout.MAILBOXES, layout.TASKS):
        (root / name).mkdir()
        (root / name / "README.md").write_text("x")
    assert create_team(root, root).id.startswith("team_")


def test_a_directory_replaced_by_a_link_is_refused_when_opened(root: Path) -> None:
    create_team(root, root)
    (root / layout.MAILBOXES).rename(root / "away")
    (root / layout.MAILBOXES).symlink_to("away")
    with pytest.raises(ForeignDirectory):
        open_team(root)


def test_a_team_of_a_later_format_is_refused_by_name(root: Path) -> None:
    create_team(root, root)
    path = root / layout.TEAM_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(NewerFormat, match="99"):
        open_team(root)


def test_the_box_of_the_lead_is_there_from_the_start(root: Path) -> None:
    create_team(root, root)
    assert (root / layout.inbox("lead")).is_dir()


def test_the_root_is_found_from_below(root: Path) -> None:
    (root / ".git").mkdir()
    (root / "a/b").mkdir(parents=True)
    assert find_root(root / "a/b") == root
