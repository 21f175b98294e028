"""A scratch repository with a team of real processes, whose model answers from a playbook."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil
import yaml

from coordination import layout
from coordination.clock import CLOCKS_VARIABLE
from coordination.process import processes_at
from coordination.protocols import PERSON
from coordination.stores import open_stores
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from orchestrator.chaos.schedule import TTL_SECONDS
from orchestrator.chaos.small_disk import SmallDisk
from orchestrator.demo.demo import first_commit
from orchestrator.launchers.local import TEAMMATE, LocalProcess, start_command
from orchestrator.lead.opening import find_team
from workspace.opening import open_repository

WORKERS = 4
NO_END = 100_000  # attempts: no accident of ours makes a task fail
MARKS = "marks"  # directory with a file per task that holds its one line
CHECK = 'for mark in marks/*; do test "$(cat "$mark")" = "${mark#marks/}" || exit 1; done'
PLAYBOOK = """\
format: 1
rules:
  - when: {system: 'role=teammate .*task=task_', tools_called: ^$}
    delay_seconds: 0.2
    call:
      - bash: {command: 'mkdir -p marks; sleep 0.4'}
      - send_message: {to: lead, content: I begin.}
      - send_message: {to: worker-1, content: I begin.}
  - when: {system: 'role=teammate .*task=(?P<task>task_\\w+)', tools_called: send_message$}
    delay_seconds: 0.2
    call: {write_file: {path: 'marks/${task}', content: "${task}\\n"}}
  - when: {system: 'role=teammate .*task=task_', tools_called: write_file$}
    call: {complete_task: {summary: Marked.}}
  - when: {system: 'role=teammate .*task=task_', last_result: checks_failed|unwritable|No space}
    delay_seconds: 0.5
    call: {complete_task: {summary: Marked.}}
  - say: Done.
"""


class Stage:
    """Where the accidents happen: a directory that nobody else uses."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="leadhand-chaos-"))
        self.clocks = self.place / "clocks"  # by how much those of which processes are off
        self.clocks.mkdir()
        (self.place / "disk").mkdir()
        self.disk = SmallDisk(self.place / "disk")
        self.root = self.place / "disk" / "repository"
        (self.root / MARKS).mkdir(parents=True)
        (self.root / MARKS / "README").write_text("README\n", encoding="utf-8")
        first_commit(self.root, "Start")
        self._server = ScriptedServer(Playbook.parse(PLAYBOOK))
        self._server.__enter__()
        self._environment = self._make_environment()
        self._started: list[LocalProcess] = []
        self.call("init")  # by a command, so that its key is among the settings of the commands
        self.git = open_repository(self.root)
        self.stores = open_stores(find_team(self.root, None), PERSON)  # what a person sees

    def _make_environment(self) -> dict[str, str]:
        """Of the commands; nothing of the person's own settings reaches them."""
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("LEADHAND", "ANTHR"))
        }
        return {
            **own,
            "MODEL_ID": "scripted",
            "ANTHROPIC_BASE_URL": self._server.url,
            "ANTHROPIC_API_KEY": "scripted-no-key-needed",
            CLOCKS_VARIABLE: str(self.clocks),
            "LEADHAND_LEASE_TTL_SECONDS": str(TTL_SECONDS),
            "LEADHAND_TASK_MAX_ATTEMPTS": str(NO_END),
            "LEADHAND_PERMISSIONS_ALLOW": "bash(mkdir *)",
            "LEADHAND_MEMORY_EXTRACT": "false",  # its plays have no end at which something is learned
            "LEADHAND_SANDBOX": "off",  # its commands are ours, and its disk has no room for boxes
            "XDG_STATE_HOME": str(self.place),
            "XDG_CONFIG_HOME": str(self.place),
        }

    def tasks_file(self, name: str, keys: list[str]) -> Path:
        """Tasks that can be done side by side, but each third waits for the one before."""
        file = self.place / name
        tasks = [
            {"key": key, "subject": key, "checks": [CHECK], "needs": keys[n - 1 : n] if n % 3 == 2 else []}
            for n, key in enumerate(keys)
        ]
        file.write_text(yaml.safe_dump(tasks), encoding="utf-8")
        return file

    def command(self, *arguments: str) -> LocalProcess:
        """A running `leadhand` command."""
        log = self._log(arguments[0], len(self._started))
        started = start_command(arguments, cwd=self.root, environment=self._environment, log=log)
        self._started.append(started)
        return started

    def call(self, *arguments: str) -> tuple[int, str]:
        """Exit code and words of a command that has ended."""
        code = self.command(*arguments).wait()
        return code, self._log(arguments[0], len(self._started) - 1).read_text("utf-8", "replace")

    def lead(self, *arguments: str) -> LocalProcess:
        """A running lead."""
        return self.command(*arguments, "--workers", str(WORKERS), "--no-input", "--json")

    def _log(self, verb: str, number: int) -> Path:
        return self.place / f"{number:03d}-{verb}.log"

    def workers(self) -> list[psutil.Process]:
        """The processes of teammates, those among them that are not on the roster yet."""
        return [process for process in processes_at(self.place) if TEAMMATE in _arguments(process)]

    def logs(self) -> list[Path]:
        """What the processes wrote besides."""
        return sorted(
            [*self.place.glob("*.log"), *self.place.rglob("errors.log"), *(self.root / layout.LOGS).glob("*")]
        )

    def close(self, *, keep: bool) -> Path | None:
        """Nothing runs and nothing is left, but a copy of the place where it is to be kept."""
        for process in processes_at(self.place):
            with suppress(psutil.Error):
                process.kill()
        self._server.close()
        kept = self.place.with_name(f"{self.place.name}-kept") if keep else None
        if kept:
            shutil.copytree(self.place, kept, symlinks=True)
        self.disk.close()
        shutil.rmtree(self.place)
        return kept


def _arguments(process: psutil.Process) -> list[str]:
    try:
        arguments: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return arguments
