"""What a child process is given, and how its group ends; starts nothing itself."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import psutil

from coordination.process import start_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from coordination.clock import Clock

LISTED = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR"})
PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})  # in either case
CREDENTIALS = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"})  # whatever `env.pass` names
UNASKED = {"GIT_EDITOR": ":", "GIT_TERMINAL_PROMPT": "0"}  # `:` is git's word for no editor
PATIENCE_SECONDS = 5.0  # between TERM and KILL
_LOOK_SECONDS = 0.02


# The command's first child waits for the end of our pipe, which comes with our end however we die, and
# takes the group along: nobody else would ever stop it.
_ON_A_LEASH = """\
exec 3<&0 </dev/null
(read -r line <&3; kill -9 0) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""


class Confine(Protocol):
    """Says where commands of agents and repositories run."""

    def __call__(self, command: Sequence[str], cwd: Path, /) -> list[str]:
        """What to start for the command to run in this directory, as far from all else as can be.

        May read and make small files. Raises TeamError when it may not run as things are.
        """
        ...


def unconfined(command: Sequence[str], _: Path) -> list[str]:
    """The command as it is: it runs as the person."""
    return list(command)


def on_a_leash(command: Sequence[str]) -> list[str]:
    """The arguments that run a command whose whole group dies when its starter does.

    To be started as the leader of a session, with a pipe for its standard input that the starter
    keeps open and never writes to; the command itself finds its input closed.
    """
    return ["/bin/sh", "-c", _ON_A_LEASH, "leash", *command]


def in_shell(command: str) -> list[str]:
    """The arguments that run a line of shell."""
    return ["/bin/sh", "-c", command]


def tool_environment(
    extra: Mapping[str, str] | None = None,
    *,
    passed: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of shells, hooks, checks, set-up, git and MCP servers.

    From `environ` (that of this process) what is listed here or named in `passed` (the setting
    `env.pass`), never a credential of the model; then `extra`, which the host sets itself. Nobody can
    answer such a process, so git takes messages as they stand and asks for no password.
    """
    source = os.environ if environ is None else environ
    allowed = (LISTED | set(passed)) - CREDENTIALS
    kept = {name: value for name, value in source.items() if name in allowed or name.lower() in PROXIES}
    return {**UNASKED, **kept, **(extra or {})}


def end_group(group: int, clock: Clock, *, patience_seconds: float = PATIENCE_SECONDS) -> bool:
    """No process of this group runs any more: TERM, so much patience, then KILL.

    True when all are gone; False when some survive KILL for as long again (stuck in the kernel) or
    belong to somebody else. Blocks this thread. The leader stays a zombie until its parent waits for
    it. Raises ValueError for the group of the caller.
    """
    if group <= 1 or group == os.getpgrp():
        raise ValueError(group)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(group, number)
        deadline = clock.monotonic() + patience_seconds
        while group_runs(group):
            if clock.monotonic() >= deadline:
                break
            clock.sleep(_LOOK_SECONDS)
        else:
            return True
    return False


class RunningGroups:
    """The process groups that this process runs for its tools; any thread may end them."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, group: int) -> Iterator[None]:
        """The group is one of these until the block ends."""
        with self._lock:
            self._groups.add(group)
        try:
            yield
        finally:
            with self._lock:  # afterwards the number may be another group's
                self._groups.discard(group)

    def kill(self) -> bool:
        """Every group was killed, without a grace; False when there was none."""
        with self._lock:
            for group in self._groups:
                _signal(group, signal.SIGKILL)
            return bool(self._groups)


def group_runs(group: int) -> bool:
    """True while a process of the group runs; a zombie does not run."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # some systems say so for zombies
        pass
    return any(_group_of(pid) == group and start_mark(pid) is not None for pid in psutil.pids())


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
