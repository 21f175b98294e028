"""Two hosts that mount one directory, and a team of real processes on both."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess  # noqa: TID251 - commands as a person starts them, on either host
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coordination.protocols import PERSON
from coordination.stores import Stores, open_stores
from coordination.team_root import open_team
from tests.support.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordination.records import Task

PROJECT = Path(__file__).resolve().parents[2]
CLUSTER = Path(__file__).with_name("cluster.sh")
PATIENCE_SECONDS = 60.0
TTL_SECONDS = 6.0
CANNOT = 77  # of the script: this kernel has no such thing
EXPORTS = {"gluster": "brick", "sshfs": "sshfs-export", "sshfs-nocache": "sshfs-export"}
SETTINGS = """\
checks:
  done: grep -q 'a = 2' a.py
  any: 'true'
lease.ttl_seconds: {ttl}
plan_reviewer: person
"""
GIT = "[user]\n\tname = Pat Person\n\temail = pat@example.org\n"


class NoCluster(Exception):
    """This machine cannot make one."""


class Cluster:
    """The hosts, and what is mounted on them."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def script(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CLUSTER), *arguments],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **self._own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def _own(self) -> dict[str, str]:
        return {"SHAREDFS_STATE": str(self.state)}

    def up(self, *file_systems: str) -> None:
        """They are mounted on all hosts. Raises NoCluster."""
        made = self.script("up", *file_systems)
        if made.returncode == CANNOT:
            raise NoCluster(made.stderr.partition("SKIP: ")[2].strip())
        assert made.returncode == 0, made.stderr

    def mount(self, file_system: str) -> Path:
        return self.state / "mnt" / file_system

    def export(self, file_system: str) -> Path:
        """The same directory as its server has it, where this process can look at it."""
        return self.state / EXPORTS[file_system]

    def on(self, host: str, command: str) -> list[str]:
        """How a shell command is run there."""
        return [str(CLUSTER), "exec", host, "bash", "-c", command]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


class Command:
    """A command that runs on a host; its output goes to files."""

    def __init__(self, team: TeamOfTwo, host: str, line: str, log: Path) -> None:
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                team.cluster.on(host, f"{team.prologue(host)}; {line}"),
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SHAREDFS_STATE": str(team.cluster.state)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def so_far(self) -> Ended:
        """What it has said by now."""
        code = self.process.poll()
        return Ended(
            code=-1 if code is None else code,
            out=self._out.read_text("utf-8"),
            err=self._err.read_text("utf-8"),
        )

    def end(self) -> Ended:
        """Wait for its end."""
        self.process.wait(PATIENCE_SECONDS)
        return self.so_far


class TeamOfTwo(Watched):
    """A repository on a mount, and the processes of both hosts that belong to it."""

    patience_seconds = PATIENCE_SECONDS

    def __init__(self, cluster: Cluster, file_system: str, place: Path, playbook: str = "") -> None:
        """`place` is a directory of the machine, in which each host has its own home.

        Without a playbook no model is there, and nobody but `act` can do anything.
        """
        self.cluster = cluster
        self.place = place
        self.root = cluster.mount(file_system) / place.name  # as the hosts see it
        self.there = cluster.export(file_system) / place.name  # as this process does
        self.roots = {"a": self.root, "b": self.root, "s": self.there}  # s is the server
        self.commands: list[Command] = []
        self.settings: dict[str, object] = {}  # as environment, on both hosts from now on
        self._urls: dict[str, str] = {}
        self._make_repository()
        for host in ("a", "b"):
            home = place / f"home-{host}"
            home.mkdir()
            (home / ".gitconfig").write_text(GIT, encoding="utf-8")
        if playbook:
            (place / "book.yaml").write_text(f"format: 1\nrules:\n{playbook}", encoding="utf-8")
            self._serve(place / "book.yaml")

    def _make_repository(self) -> None:
        (self.place / "leadhand.yaml").write_text(SETTINGS.format(ttl=TTL_SECONDS), encoding="utf-8")
        git = "git -c user.name=P -c user.email=p@example.org"
        line = (
            f"mkdir -p {self.root} && cd {self.root} && git init -q -b main . && echo 'a = 1' > a.py && "
            f"cp {self.place}/leadhand.yaml . && {git} add -A && {git} commit -q -m Start"
        )
        subprocess.run(
            self.cluster.on("a", line), env={"SHAREDFS_STATE": str(self.cluster.state)}, check=True
        )

    def _serve(self, book: Path) -> None:
        """The scripted model is on both hosts, where the person trusts the repository."""
        line = f"exec {sys.executable} -m harness.scripted.server {book}"
        servers = {host: self.start(host, line) for host in ("a", "b")}
        for host, server in servers.items():
            self.wait(lambda server=server: "http" in server.so_far.out, "the scripted model")
            self._urls[host] = server.so_far.out.split()[-1]
            trusted = self.leadhand(host, "trust", "--yes")
            assert trusted.code == 0, trusted

    def prologue(self, host: str) -> str:
        """What a shell of that host does first."""
        variables = {
            "HOME": self.place / f"home-{host}",
            "PYTHONPATH": PROJECT,
            "GIT_CONFIG_NOSYSTEM": 1,
            "ANTHROPIC_BASE_URL": self._urls.get(host, ""),
            "ANTHROPIC_API_KEY": "no-key-needed",
            "MODEL_ID": "scripted",
            "LEADHAND_MEMORY_EXTRACT": "false",
            "LEADHAND_SANDBOX": "off",
            "LEADHAND_PERMISSIONS_ALLOW": "bash",
            "LC_ALL": "C.UTF-8",
            **self.settings,
        }
        exports = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in variables.items())
        return f"export {exports}; cd {self.roots[host]}"

    # acting

    def start(self, host: str, line: str) -> Command:
        command = Command(self, host, line, self.place / f"{len(self.commands)}-on-{host}")
        self.commands.append(command)
        return command

    def begin(self, host: str, *arguments: str) -> Command:
        """A `leadhand` command that runs on that host."""
        return self.start(host, f"exec {sys.executable} -P -m orchestrator.cli.main {shlex.join(arguments)}")

    def leadhand(self, host: str, *arguments: str) -> Ended:
        """A `leadhand` command from its start to its end."""
        return self.begin(host, *arguments).end()

    def act(self, host: str, *arguments: str) -> Command:
        """What `tests/sharedfs/acts.py` does, on that host."""
        return self.start(
            host, f"exec {sys.executable} -m tests.sharedfs.acts {self.roots[host]} {shlex.join(arguments)}"
        )

    def mount_elsewhere(self, host: str) -> None:
        """That host has the directory under another path, where the person trusts it too."""
        place = self.place / "elsewhere"
        mounted = self.start(host, f"mkdir {place} && mount --bind {self.root.parent} {place}").end()
        assert mounted.code == 0, mounted
        self.roots[host] = place / self.root.name
        assert self.leadhand(host, "trust", "--yes").code == 0

    def kill(self, host: str, pid: int) -> None:
        """That process of the host is gone, as by `kill -9`."""
        assert self.start(host, f"kill -9 {pid}").end().code == 0

    # looking

    @property
    def stores(self) -> Stores:
        return open_stores(open_team(self.there), PERSON)

    def task(self, subject: str) -> Task:
        return next(task for task in self.stores.tasks.all() if task.subject == subject)

    def hosts(self) -> dict[str, str]:
        """What each host found."""
        return {name: str(host.found) for name, host in open_team(self.there).mount.hosts.items()}

    def profile(self, host: str) -> str:
        """What `status` says there."""
        return str(json.loads(self.leadhand(host, "status", "--json").out)["profile"])

    @property
    def team_root(self) -> Path:
        return self.there

    def logs(self) -> Iterable[Path]:
        return self.place.glob("*-on-*")

    # the end

    def close(self) -> list[str]:
        """Nothing of the team runs on either host; returns what of the product was left."""
        left = []
        for host, root in self.roots.items():
            self.cluster.script("heal", host)
            ended = self.start(
                host, f"exec {sys.executable} -m tests.sharedfs.acts {root} sweep {self.place}"
            )
            left += ended.end().out.splitlines()
        for command in self.commands:
            command.process.send_signal(signal.SIGCONT)  # nsenter stops along with what it started
            command.process.wait(PATIENCE_SECONDS)
        return [line for line in left if not re.search(r"harness\.scripted|tests\.sharedfs", line)]
