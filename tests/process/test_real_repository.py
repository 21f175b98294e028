"""The bench that lets a team work on somebody's repository says whether the work came back whole."""

from __future__ import annotations

import json
import subprocess  # noqa: TID251 - the bench as a person starts it
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bench.real_repository import Play
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Mapping


PROJECT = Path(__file__).resolve().parents[2]
TEACH: dict[str, Any] = {
    "settings": {"checks": {"two": "grep -q 2 a.txt"}, "check": {"every_task": ["two"]}},
    "tasks": [{"key": "two", "subject": "Make it two"}],
    "rules": [
        {
            "when": {"system": "role=teammate", "tools_called": "^$"},
            "call": {"edit_file": {"path": "a.txt", "old_text": "1", "new_text": "2"}},
        },
        {
            "when": {"system": "role=teammate", "tools_called": "edit_file$"},
            "call": {"complete_task": {"summary": "two"}},
        },
        {"when": {"system": "role=teammate"}, "say": "Done."},
    ],
}


def played(place: Path, play: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    (place / "play.yaml").write_text(yaml.safe_dump(dict(play)), encoding="utf-8")
    repository = Repository.create(place / "somebody's", {"a.txt": "1\n"})
    command = [sys.executable, "-m", "bench.real_repository", str(place / "play.yaml"), str(repository.path)]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return ended.returncode, json.loads(ended.stdout)


def test_work_that_came_back_is_counted(tmp_path: Path) -> None:
    code, figures = played(tmp_path, TEACH)
    assert (code, figures["faults"]) == (0, [])
    assert (figures["tasks"], figures["merged"], figures["files"]) == (1, 1, 1)


def test_work_that_did_not_is_a_fault(tmp_path: Path) -> None:
    refused = {**TEACH, "settings": {**TEACH["settings"], "checks": {"two": "false"}}}
    code, figures = played(tmp_path, refused)
    assert code == 1
    assert "Make it two is failed, and not merged" in figures["faults"]


@pytest.mark.parametrize("path", sorted(PROJECT.glob("bench/plays/*.yaml")), ids=lambda path: path.stem)
def test_every_play_that_ships_is_one(path: Path) -> None:
    play = Play(path, needed=False)
    assert {task["key"] for task in play.tasks}
    assert play.playbook.rules
