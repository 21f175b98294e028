"""A team whose commands run inside bubblewrap, from the first command to the merged branch."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.sandbox import needs_sandbox
from tests.support.team_process import SET_A
from workspace.sandbox.choice import in_words
from workspace.sandbox.sandbox import OFF

if TYPE_CHECKING:
    from tests.process.conftest import Stages


WORKS_INSIDE = """
  - when: {system: role=teammate, tools_called: ^$}
    call:
      - bash: {command: 'echo "a = 2" > a.py; git commit -qam "Set a"; echo b > b.txt'}
      - write_file: {path: probe.sh, content: 'cat @ROOT@/.env; echo x > @ROOT@/a.py; git branch m; git log'}
      - bash: {command: sh probe.sh}
  - when: {system: role=teammate, tools_called: bash$, last_result: 'Read-only file system[^$]*Set a'}
    call: {bash: {command: 'echo later > later; sleep 600', run_in_background: true}}
  - when: {system: role=teammate, tools_called: bash$, last_result: bg_}
    call: {complete_task: {summary: a is 2}}
  - say: Done.
"""
DOES_IT = """
  - when: {tools_called: ^$}
    call: {bash: {command: 'echo "a = 2" > a.py'}}
  - when: {tools_called: ^bash$}
    call: {complete_task: {summary: done}}
  - say: Done.
"""


@needs_sandbox
def test_a_team_works_inside_and_its_commits_come_out(staged: Stages) -> None:
    stage = staged(WORKS_INSIDE, LEADHAND_SANDBOX="auto")
    (stage.root / ".env").write_text("ANTHROPIC_API_KEY=no-key-but-secret\n", encoding="utf-8")
    ended = stage.start_tasks(SET_A, options=("--json", "--no-input")).end()
    assert ended.code == 0, ended

    branch = ended.event("report")["branch"]
    assert stage.person.git("show", f"{branch}:a.py") == "a = 2"
    assert stage.person.git("show", f"{branch}:b.txt") == "b"
    assert "Set a" in stage.person.git("log", "--format=%s", branch).splitlines()
    assert not stage.person.git("branch", "--list", "m")
    assert (stage.root / "a.py").read_text("utf-8") == "a = 1\n"
    stage.person.git("fsck", "--strict")
    assert {event["sandboxed"] for event in stage.events("tool_ran", tool="bash")} == {True}
    assert {event["sandboxed"] for event in stage.events("background_started")} == {True}
    assert [stage.events(action)[0]["sandboxed"] for action in ("completed", "merged")] == [True, True]
    assert {event["sandbox"] for event in (*stage.events("leads"), *stage.events("alive"))} == {"bwrap"}
    journal = "".join(map(str, stage.journal(stage.events("claimed")[0]["who"])))
    assert "no-key-but-secret" not in journal


def path_without_bubblewrap(place: Path) -> str:
    """A PATH with git, and nothing else."""
    programs = place / "programs"
    programs.mkdir()
    git = shutil.which("git")
    assert git
    (programs / "git").symlink_to(git)
    return str(programs)


def test_a_run_that_may_not_ask_does_not_start_without_a_sandbox(staged: Stages, tmp_path: Path) -> None:
    stage = staged(WORKS_INSIDE, LEADHAND_SANDBOX="auto", PATH=path_without_bubblewrap(tmp_path))
    ended = stage.start_tasks(SET_A, options=("--json", "--no-input")).end()
    assert ended.code == 2
    assert "Install bubblewrap" in ended.complaint
    assert "--sandbox off" in ended.complaint
    assert not stage.events("leads")


def test_the_person_may_let_commands_run_without_a_sandbox(staged: Stages) -> None:
    config = Path(os.environ["HOME"]) / ".config" / "leadhand" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("sandbox: off\n", encoding="utf-8")
    stage = staged(DOES_IT)
    del stage.environment["LEADHAND_SANDBOX"]
    ended = stage.start_tasks(SET_A, options=("--no-input",)).end()
    assert ended.code == 0, ended
    assert ended.out.count(in_words(OFF, "all")) == 2  # in the banner, and beside the proposed team
    assert {event["sandboxed"] for event in stage.events("tool_ran", tool="bash")} == {False}
    assert [stage.events(action)[0]["sandboxed"] for action in ("completed", "merged")] == [False, False]


def test_a_repository_does_not_take_its_own_commands_out_of_the_sandbox(staged: Stages) -> None:
    stage = staged(WORKS_INSIDE)
    (stage.root / "leadhand.yaml").write_text("sandbox: off\n", encoding="utf-8")
    ended = stage.start_tasks(SET_A, options=("--json", "--no-input")).end()
    assert ended.code == 2
    assert "sandbox may not be set by a file of the repository" in ended.complaint
