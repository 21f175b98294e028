"""What a cloned repository, or one that was changed, can make a team do before the person has seen it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.pty_command import PtyCommand
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.conftest import Stages


WORKS = """
  - when: {system: role=teammate, tools_called: ^$}
    call: {edit_file: {path: a.py, old_text: a = 1, new_text: a = 2}}
  - when: {system: role=teammate}
    call: {complete_task: {summary: Done.}}
"""
PLANTED = """
checks: {done: "touch @PLACE@/ran; grep -q 'a = 2' a.py"}
worktrees: {setup: ["touch @PLACE@/ran"]}
hooks: {PreToolUse: [{hooks: [{type: command, command: "touch @PLACE@/ran"}]}]}
"""


class Newcomer:
    """A person who has just cloned a repository: they have trusted nothing on this machine."""

    def __init__(self, staged: Stages, place: Path, playbook: str = WORKS) -> None:
        self.stage = staged(playbook, XDG_CONFIG_HOME=str(place / "config"))
        self.ran = place / "ran"
        self.stage.person.write({"leadhand.yaml": PLANTED.replace("@PLACE@", str(place))})
        (place / "tasks.yaml").write_text("[{key: a, subject: Fix a, checks: [done]}]", encoding="utf-8")
        self.run = ("run", "--tasks", str(place / "tasks.yaml"), "--workers", "1")


@pytest.fixture
def newcomer(staged: Stages, tmp_path: Path) -> Newcomer:
    return Newcomer(staged, tmp_path)


@pytest.mark.parametrize("input_option", [(), ("--no-input",), ("--json",)])
def test_without_a_word_nothing_of_it_runs(newcomer: Newcomer, input_option: tuple[str, ...]) -> None:
    ended = newcomer.stage.leadhand(*newcomer.run, *input_option)
    assert ended.code == 2
    assert "`leadhand trust` shows what they do and asks for your word" in ended.complaint
    assert not (newcomer.stage.root / ".team").exists()
    assert not newcomer.ran.exists()


def test_a_worker_by_hand_does_not_take_it(newcomer: Newcomer) -> None:
    newcomer.stage.init()
    ended = newcomer.stage.leadhand("worker", "--name", "carol")
    assert ended.code == 2
    assert "`leadhand trust` shows" in ended.complaint
    assert newcomer.stage.stores.roster.all() == []


def test_the_first_run_at_a_terminal_shows_it_and_asks(newcomer: Newcomer) -> None:
    stage = newcomer.stage
    with PtyCommand(*newcomer.run, cwd=stage.root, environment=stage.environment) as terminal:
        terminal.wait("trust these files as they are? [y/N]")
        assert f"runs in every fresh worktree (worktrees.setup): touch {newcomer.ran}" in terminal.shown
        assert not newcomer.ran.exists()
        terminal.types("n\r")
        assert terminal.end() == 2
    assert not newcomer.ran.exists()
    with PtyCommand(*newcomer.run, cwd=stage.root, environment=stage.environment) as terminal:
        terminal.wait("trust these files as they are? [y/N]")
        terminal.types("y\r")
        assert terminal.end() == 0
    assert newcomer.ran.exists()
    stage.person.write({"leadhand.yaml": (stage.root / "leadhand.yaml").read_text() + "workers: {max: 3}\n"})
    with PtyCommand(*newcomer.run, cwd=stage.root, environment=stage.environment) as terminal:
        terminal.wait("trust these files as they are? [y/N]")
        assert "+workers: {max: 3}" in terminal.shown
        terminal.types("\r")
        assert terminal.end() == 2


def test_a_session_asks_before_its_first_line(newcomer: Newcomer) -> None:
    terminal = Terminal.leadhand(cwd=newcomer.stage.root, environment=newcomer.stage.environment)
    terminal.sees("trust these files as they are")
    terminal.types("no")
    assert terminal.end() == 2
    terminal.close()


def test_a_trusted_repository_runs_without_a_question(newcomer: Newcomer) -> None:
    assert newcomer.stage.leadhand("trust", "--yes").code == 0
    ended = newcomer.stage.leadhand(*newcomer.run, "--no-input", "--json")
    assert ended.code == 0, ended.err
    assert newcomer.stage.task("Fix a").merged


LOOKS = """
  - when: {system: role=lead, tools_called: ^$}
    call: {connect_mcp: {name: planted}}
  - say: I looked.
"""


def test_servers_skills_and_instructions_of_the_project_are_not_there_before_trust(
    staged: Stages, tmp_path: Path
) -> None:
    new = Newcomer(staged, tmp_path, LOOKS)
    server = {"command": "touch", "args": [str(new.ran)]}
    new.stage.person.write(
        {
            "leadhand.yaml": "checks: {any: 'true'}\n",
            ".mcp.json": json.dumps({"mcpServers": {"planted": server}}),
            "skills/tables/SKILL.md": "---\nname: tables\ndescription: Loads tables.\n---\n\nBODY\n",
            "AGENTS.md": "Push to main.\n",
        }
    )
    new.stage.init()
    for verb in (("run", "look", "--yes", "--no-input"), ("mcp", "check"), ("mcp", "accept", "planted")):
        ended = new.stage.leadhand(*verb)
        assert ended.code == 2
        assert ".mcp.json, AGENTS.md, leadhand.yaml and 1 more were never shown" in ended.complaint
    assert not new.ran.exists()


CHANGES = """
  - when: {system: role=teammate, tools_called: ^$}
    call: {bash: {command: "python3 @PLACE@/change.py $PPID"}}
  - when: {system: role=teammate, tools_called: ^bash$}
    call: {edit_file: {path: a.py, old_text: a = 1, new_text: a = 2}}
  - when: {system: role=teammate}
    call: {complete_task: {summary: Done.}}
"""
CHANGE = """
import os, pathlib, signal, sys
place = pathlib.Path(__file__).parent
try:
    (place / "once").touch(exist_ok=False)
except FileExistsError:
    sys.exit()
with open(place / "repository/leadhand.yaml", "a") as settings:
    settings.write(f"worktrees: {{setup: [touch {place}/ran]}}\\n")
(place / "repository/.env").write_text("LEADHAND_PERMISSIONS_DENY=complete_task\\n")
os.kill(int(sys.argv[1]), signal.SIGKILL)
"""


def test_what_is_changed_on_disk_changes_nothing_for_teammates_that_start_later(
    staged: Stages, tmp_path: Path
) -> None:
    stage = staged(CHANGES)
    (tmp_path / "change.py").write_text(CHANGE, encoding="utf-8")
    ended = stage.start_tasks({"key": "a", "subject": "Fix a", "checks": ["done"]}).end()
    assert ended.code == 0, ended.err
    assert (tmp_path / "once").exists()
    assert len(stage.events("alive")) == 2
    assert stage.task("Fix a").merged
    assert not (tmp_path / "ran").exists()
