"""A server for ssh on this host that lets in whoever runs the tests, and nobody else."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess  # noqa: TID251 - the server and the keys are other people's programs
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from coordination.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE_SECONDS = 20.0
PRIVILEGES = Path("/run/sshd")  # which a server that root starts insists on; made anew at each boot


class SshServer:
    """Runs while the context lasts; skips the test where it cannot."""

    def __init__(self, place: Path) -> None:
        self._place = place
        place.mkdir()
        self._program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        if not (self._program and shutil.which("ssh") and shutil.which("ssh-keygen")):
            pytest.skip("sshd, ssh or ssh-keygen is not installed")

    def __enter__(self) -> Self:
        assert self._program
        if os.geteuid() == 0:
            with suppress(OSError):  # the server then says itself what it misses
                PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
        for key in ("host", "own"):
            made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._place / key)]
            subprocess.run(made, check=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        options = {
            "Port": self._port,
            "ListenAddress": "127.0.0.1",
            "HostKey": self._place / "host",
            "AuthorizedKeysFile": self._place / "own.pub",
            "PidFile": "none",
            "StrictModes": "no",  # the keys lie in a directory of the test
            "UsePAM": "no",
            "PrintMotd": "no",
            "PermitRootLogin": "yes",
        }
        arguments = [argument for name, value in options.items() for argument in ("-o", f"{name}={value}")]
        with (self._place / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [self._program, "-D", "-e", "-f", os.devnull, *arguments], stderr=log
            )
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.terminate()
        self._server.wait()

    def command(self, command: str, cwd: Path, environment: Mapping[str, str]) -> list[str]:
        """How the command is run over ssh, at a terminal, in this environment."""
        kept = {name: value for name, value in environment.items() if name.isidentifier() and name != "TERM"}
        set_up = " ".join(f"{name}={shlex.quote(value)}" for name, value in kept.items())
        return [
            "ssh", "-tt", "-F", os.devnull, "-p", str(self._port), "-i", str(self._place / "own"),
            "-o", f"UserKnownHostsFile={self._place / 'known'}", "-o", "StrictHostKeyChecking=no",
            "-o", "LogLevel=ERROR", f"{getpass.getuser()}@127.0.0.1",
            f"cd {shlex.quote(str(cwd))} && {set_up} exec {command}",
        ]  # fmt: skip

    def _wait(self) -> None:
        clock, deadline = SystemClock(), SystemClock().monotonic() + PATIENCE_SECONDS
        while self._server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except OSError:
                assert clock.monotonic() < deadline, (self._place / "log").read_text("utf-8")
                clock.sleep(0.05)
            else:
                return
        pytest.skip(f"sshd does not run here: {(self._place / 'log').read_text('utf-8')[-300:]}")
