"""A repository, a scripted model behind its server, and the real lead and worker processes of a test."""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import psutil
import yaml

from coordination.clock import SystemClock
from coordination.process import processes_at
from coordination.protocols import PERSON
from coordination.stores import Stores, open_stores
from coordination.team_root import open_team
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from harness.settings.sources import SettingsFault
from orchestrator.lead.opening import make_team
from tests.support.repository import Repository
from tests.support.trust import trusts
from tests.support.watched import Watched

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from coordination.records import Task

PATIENCE_SECONDS = 90.0  # a busy machine takes many seconds to start one process
TTL_SECONDS = 9.0  # so that a death is noticed after 1.5 s
FILES = {
    "a.py": "a = 1\n",
    "leadhand.yaml": "checks:\n  done: grep -q 'a = 2' a.py\n  any: 'true'\n",
    ".gitignore": "__pycache__/\n",
}
SET_A = {"key": "a", "subject": "set a", "checks": ["done"]}
WAIT = "until [ -e @PLACE@/go ]; do sleep 0.05; done"  # a command that goes on once the test says so


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]

    def event(self, action: str) -> dict[str, Any]:
        return next(event for event in self.events if event["action"] == action)

    @property
    def complaint(self) -> str:
        """The one line on stderr."""
        assert "Traceback" not in self.err, self.err
        assert len(self.err.splitlines()) == 1, self.err
        return self.err.strip()


class Command:
    """A running `leadhand` command; its output goes to files, so that it never waits for a reader."""

    def __init__(
        self, arguments: tuple[str, ...], *, cwd: Path, environment: Mapping[str, str], log: Path
    ) -> None:
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "orchestrator.cli.main", *arguments],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> Self:
        self.process.send_signal(number)
        return self

    def said(self, text: str) -> int:
        """How often the command has printed that by now."""
        return self._out.read_text("utf-8").count(text)

    def end(self) -> Ended:
        """Wait for its end."""
        code = self.process.wait(PATIENCE_SECONDS)
        return Ended(code=code, out=self._out.read_text("utf-8"), err=self._err.read_text("utf-8"))


def sleepers(pid: int) -> list[psutil.Process]:
    """The commands below a process that sleep."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended while we looked
            if child.name() == "sleep":
                found.append(child)
    return found


class Stage(Watched):
    """Where one test lets real processes play."""

    patience_seconds = PATIENCE_SECONDS

    def __init__(self, place: Path, playbook: str, **settings: str) -> None:
        """`settings` are further environment variables of all commands.

        In the playbook `@WAIT@` is a command that waits for `let_go`, `@ROOT@` the person's checkout.
        """
        self.place = place
        self.person = Repository.create(place / "repository", FILES)
        self.root = self.person.path
        text = (
            playbook.replace("@WAIT@", WAIT).replace("@PLACE@", str(place)).replace("@ROOT@", str(self.root))
        )
        self.server = ScriptedServer(Playbook.parse(f"format: 1\nrules:\n{text}"))
        self.server.__enter__()
        self.environment = {
            **os.environ,
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "no-key-needed",
            "MODEL_ID": "scripted",
            "LEADHAND_LEASE_TTL_SECONDS": str(TTL_SECONDS),
            "LEADHAND_MEMORY_EXTRACT": "false",  # no further call of the model than a playbook plays
            "LEADHAND_PERMISSIONS_ALLOW": f"bash,write_file({place}/*)",
            **settings,
        }
        self._commands: list[Command] = []
        self.trust()

    # acting

    def init(self) -> None:
        """The team is there, as after `leadhand init`."""
        make_team(self.root, None)

    def trust(self) -> None:
        """The person has seen what lies in the repository, as after `leadhand trust --yes`."""
        with suppress(SettingsFault):  # each command says so itself
            trusts(self.root)

    def start(self, *arguments: str) -> Command:
        self.trust()
        log = self.place / f"command-{len(self._commands)}"
        command = Command(arguments, cwd=self.root, environment=self.environment, log=log)
        self._commands.append(command)
        return command

    def leadhand(self, *arguments: str) -> Ended:
        """A command from its start to its end, as in a second terminal."""
        return self.start(*arguments).end()

    def start_tasks(
        self, *tasks: dict[str, Any], workers: int = 1, options: tuple[str, ...] = ("--json",)
    ) -> Command:
        """`leadhand run --tasks`: no model leads, which saves two seconds."""
        file = self.place / "tasks.yaml"
        file.write_text(yaml.safe_dump(list(tasks)), encoding="utf-8")
        return self.start("run", "--tasks", str(file), "--workers", str(workers), *options)

    def pause(self, seconds: float) -> None:
        """Let the team play on for so long, as where the moment of what follows is random."""
        SystemClock().sleep(seconds)

    def kill(self, pid: int) -> None:
        """That process is gone, as by `kill -9`."""
        process = psutil.Process(pid)
        process.kill()
        with suppress(psutil.Error):
            process.wait(PATIENCE_SECONDS)

    def let_go(self) -> None:
        """Commands that wait go on."""
        (self.place / "go").touch()

    # looking

    @property
    def stores(self) -> Stores:
        return open_stores(open_team(self.root), PERSON)

    def task(self, subject: str) -> Task:
        return next(task for task in self.stores.tasks.all() if task.subject == subject)

    def owner(self, subject: str) -> str:
        owner = self.task(subject).owner
        assert owner is not None
        return owner

    def history(self, subject: str) -> list[str]:
        """The transitions of a task, as words."""
        return [version.event for _, version in self.stores.tasks.history(self.task(subject).id)]

    def pid(self, member: str) -> int:
        found = self.stores.roster.member(member)
        assert found is not None
        assert found.process is not None
        return found.process.pid

    @property
    def team_root(self) -> Path:
        return self.root

    def logs(self) -> Iterable[Path]:
        return self.place.glob("command-*")

    # the end

    def living(self) -> list[str]:
        """The processes that belong to this stage and run."""
        commands = []
        for process in processes_at(self.place):
            with suppress(psutil.Error):  # it ended between the two looks
                commands.append(" ".join(process.cmdline())[:150])
        return commands

    def nobody_is_left(self) -> None:
        """Wait until what was ended is gone."""
        self.wait(lambda: not self.living(), "the end of every process")

    def close(self) -> None:
        """Nothing of the stage runs; whatever did is an error of the product."""
        left = self.living()
        for process in processes_at(self.place):
            with suppress(psutil.Error):
                process.kill()
        for command in self._commands:
            command.process.wait()
        self.server.__exit__(None, None, None)
        assert not left, f"left running: {left}"
