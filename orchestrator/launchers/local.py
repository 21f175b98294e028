"""Teammates, and commands of our own, as subprocesses on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess  # noqa: TID251 - a launcher starts processes
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from coordination.child import tool_environment
from coordination.clock import CLOCKS_VARIABLE
from harness.stop_signals import ignore_stop_signals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from orchestrator.launchers.launcher import StartOrder

TEAMMATE = "agent_worker"  # the module that a teammate process runs
BROKER = "orchestrator.sharing.broker"
COMMAND = "orchestrator.cli.main"  # and that of a command
PASSED = ("XDG_CONFIG_HOME", CLOCKS_VARIABLE)  # where the person's answers lie, and the clocks of `chaos`


class LocalProcess:
    """A subprocess that leads its own process group."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self) -> int | None:
        return self._process.poll()

    def wait(self) -> int:
        """The exit code, once it has ended."""
        return self._process.wait()

    def stop(self, *, patience_seconds: float) -> None:
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def teammate_command(root: Path, name: str) -> list[str]:
    """How a teammate is started: outside the repository's import path."""
    return [sys.executable, "-P", "-m", TEAMMATE, "--team", str(root), "--name", name]


def start_command(
    arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str], log: Path
) -> LocalProcess:
    """A running `leadhand` command, as a person starts it in a terminal of its own."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", COMMAND, *arguments],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return LocalProcess(process)


def become_teammate(root: Path, name: str, role: str | None) -> NoReturn:
    """The process goes on as a teammate that a person started by hand."""
    command = [*teammate_command(root, name), *(["--role", role] if role else [])]
    ignore_stop_signals()  # while Python starts; the teammate hears them as soon as it can
    os.execv(command[0], command)  # noqa: S606 - the same program that a launcher starts


class LocalLauncher:
    """Starts a teammate with the interpreter of the lead, outside the repository's import path."""

    def start(self, order: StartOrder) -> LocalProcess:
        """What is given goes through standard input, so that no argument or variable shows a key."""
        command = [*teammate_command(order.root, order.name), "--spawn-id", order.spawn_id]
        command += ["--after", str(order.after)] if order.after is not None else []
        command.append("--given-on-stdin")
        if order.link is not None:
            command += ["--mcp-link", str(order.link)]
        passed = () if order.link is None else (order.link,)
        return _start(command, order.given, cwd=order.root, log=order.log, passed=passed)


def start_broker(given: Mapping[str, object], control: int, *, root: Path, log: Path) -> LocalProcess:
    """A running holder of shared MCP servers that has this end of a socket to its lead."""
    command = [sys.executable, "-P", "-m", BROKER, "--team", str(root), "--control", str(control)]
    return _start(command, given, cwd=root, log=log, passed=(control,))


def _start(
    command: Sequence[str], given: Mapping[str, object], *, cwd: Path, log: Path, passed: Sequence[int]
) -> LocalProcess:
    """A process of ours that reads what it is given on its standard input."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=tool_environment(passed=PASSED),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C in the lead's terminal is the lead's to handle
            pass_fds=passed,
        )
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as pipe:  # it died at once: the roster will tell
            pipe.write(json.dumps(dict(given)).encode())
    return LocalProcess(process)
