"""What a person may get wrong: one line that says what to do, the right exit code, no traceback."""

from __future__ import annotations

import json
import subprocess  # noqa: TID251 - a shell that closes streams
import sys
from typing import TYPE_CHECKING

import pytest

from coordination.tasks.drafts import TaskDraft

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


SILENT = "  - say: Nothing to do."
RUN = ("run", "do it", "--yes", "--no-input")


@pytest.fixture
def stage(staged: Stages) -> Stage:
    return staged(SILENT)


def test_no_git_repository(stage: Stage) -> None:
    (stage.root / ".git").rename(stage.place / "moved")
    ended = stage.leadhand(*RUN)
    assert ended.code == 2
    assert "git init" in ended.complaint


def test_no_commit_yet(stage: Stage) -> None:
    stage.person.git("update-ref", "-d", "HEAD")
    ended = stage.leadhand(*RUN)
    assert ended.code == 2
    assert "commit" in ended.complaint


@pytest.mark.parametrize("name", ["MODEL_ID", "ANTHROPIC_API_KEY"])
def test_no_model_or_no_key(stage: Stage, name: str) -> None:
    del stage.environment[name]
    ended = stage.leadhand(*RUN)
    assert ended.code == 2
    assert name in ended.complaint
    assert ".env" in ended.complaint


def test_a_wrong_key(stage: Stage) -> None:
    stage.environment["ANTHROPIC_API_KEY"] = "wrong"
    ended = stage.leadhand(*RUN)
    assert ended.code == 2
    assert "ANTHROPIC_API_KEY" in ended.complaint
    stage.nobody_is_left()


def test_no_server(stage: Stage) -> None:
    stage.environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    ended = stage.leadhand(*RUN)
    assert ended.code == 1
    assert "http://127.0.0.1:9" in ended.out
    assert stage.stores.runs.open_run() is not None  # `resume` goes on with it


def test_a_foreign_mailboxes_folder_is_not_taken_over(stage: Stage) -> None:
    stage.person.write({"mailboxes/mine.txt": "mine"})
    ended = stage.leadhand(*RUN)
    assert ended.code == 2
    assert "--team" in ended.complaint
    assert not (stage.root / ".team").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- {key: a", "no YAML"),
        ("- {key: a, subject: A, colour: red}", "colour"),
        ("- {key: a, subject: A, needs: [b]}", "'b'"),
        ("- {key: a, subject: A, needs: [a]}", "wait for each other"),
    ],
)
def test_a_bad_tasks_file(stage: Stage, text: str, why: str) -> None:
    file: Path = stage.place / "tasks.yaml"
    file.write_text(text, encoding="utf-8")
    ended = stage.leadhand("run", "--tasks", str(file), "--yes")
    assert ended.code == 2
    assert str(file) in ended.complaint
    assert why in ended.complaint
    assert not (stage.root / ".team").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("tasks", "show", "task_00000000"),
        ("plan", "task_00000000"),
        ("mail", "nobody"),
        ("logs", "nobody"),
        ("send", "nobody", "hello"),
        ("stop", "nobody"),
        ("approve", "req_00000000"),
        ("resume",),
    ],
)
def test_an_unknown_task_or_member(stage: Stage, command: tuple[str, ...]) -> None:
    stage.init()
    ended = stage.leadhand(*command)
    assert ended.code == 2
    assert ended.complaint.startswith("leadhand: ")


def test_a_verb_whose_streams_are_closed_ends_as_if_somebody_read_it(stage: Stage) -> None:
    stage.init()
    stage.stores.tasks.create([TaskDraft(subject="A")])
    line = 'exec "$0" -m orchestrator.cli.main tasks <&- >&- 2>&-'
    shell = ["sh", "-c", line, sys.executable]
    assert subprocess.run(shell, cwd=stage.root, env=stage.environment, check=False).returncode == 0


def test_no_team_yet(stage: Stage) -> None:
    ended = stage.leadhand("status")
    assert ended.code == 2
    assert "leadhand init" in ended.complaint


@pytest.mark.parametrize(("name", "why"), [("lead", "reserved"), ("a/b", "is no name"), ("", "is no name")])
def test_a_worker_whose_name_will_not_do(stage: Stage, name: str, why: str) -> None:
    stage.init()
    ended = stage.leadhand("worker", "--name", name)
    assert ended.code == 2
    assert why in ended.complaint


def test_a_team_directory_that_does_not_exist_is_not_made_by_a_slip(stage: Stage) -> None:
    ended = stage.leadhand(*RUN, "--team", str(stage.place / "misspelt"))
    assert ended.code == 2
    assert f"leadhand init --team {stage.place / 'misspelt'}" in ended.complaint
    assert not (stage.place / "misspelt").exists()


def test_more_teammates_than_any_machine_has_are_refused(stage: Stage) -> None:
    (stage.root / "leadhand.yaml").write_text("workers: {number: 1000000}\n", encoding="utf-8")
    ended = stage.leadhand(*RUN)
    assert ended.code == 2
    assert "workers.number" in ended.complaint
    assert "from 1 to 256" in ended.complaint


def test_a_task_file_that_a_person_broke_is_named_and_the_others_are_shown(stage: Stage) -> None:
    stage.init()
    broken, _ = stage.stores.tasks.create([TaskDraft(subject="one"), TaskDraft(subject="two")])
    (stage.root / f".tasks/log/{broken.id}/1.json").write_text("not JSON", encoding="utf-8")
    ended = stage.leadhand("tasks")
    assert ended.code == 0
    assert "two" in ended.out
    assert f"{broken.id}  [unreadable] " in ended.out
    assert not ended.err
    rows = {row["id"]: row["status"] for row in json.loads(stage.leadhand("tasks", "--json").out)}
    assert rows[broken.id] == "unreadable"


@pytest.mark.parametrize("verb", [["run", "goal"], ["resume"], [], ["status"], ["stop"]])
def test_a_verb_that_cannot_begin_makes_no_directory(stage: Stage, verb: list[str]) -> None:
    del stage.environment["MODEL_ID"]
    ended = stage.leadhand(*verb)
    assert ended.code == 2
    assert ("no team in" if verb and verb[0] != "run" else "MODEL_ID") in ended.complaint
    assert not {".team", ".tasks", "mailboxes"} & {path.name for path in stage.root.iterdir()}


def test_resume_without_an_open_run_asks_for_no_model(stage: Stage) -> None:
    stage.init()
    del stage.environment["MODEL_ID"]
    assert "no run is open here" in stage.leadhand("resume").complaint
