"""Which process this is, in terms that another process can check."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from coordination.identity import ProcessIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "only"  # a pid namespace that the system does not have, or does not show


def this_host() -> str:
    """The name of this machine, as people and file names have it."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", platform.node()) or "host"


@cache
def this_machine() -> str:
    """What tells this machine from another of its name; empty where the system has nothing such."""
    try:  # a digest, since the id itself is not for others (machine-id(5))
        text = Path("/etc/machine-id").read_bytes().strip()
    except OSError:
        return ""
    return hashlib.sha256(b"leadhand " + text).hexdigest()[:8] if text else ""


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # no procfs: macOS
        return f"boot-{psutil.boot_time():.0f}"


def pid_namespace(pid: int | str = "self") -> str:
    """Where the process counts pids; that of the caller, if none is given."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return UNKNOWN


def start_mark(pid: int) -> str | None:
    """When the process with this pid started, or None when there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _start_mark_without_procfs(pid)
    fields = stat.rpartition(")")[2].split()  # the command name may hold spaces and parentheses
    return None if fields[0] in {"Z", "X"} else fields[19]


def is_stopped(pid: int) -> bool:
    """True when the process exists and stands still, as after Ctrl-Z; it may go on at any moment."""
    try:
        return bool(psutil.Process(pid).status() in {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP})
    except psutil.Error:
        return False


def _start_mark_without_procfs(pid: int) -> str | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def processes_at(place: Path) -> Iterator[psutil.Process]:
    """Those that run, the caller apart, whose directory or command lies below a place."""
    here = str(place)
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has just ended, or is not ours to look at
            runs = process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
            if runs and (here in " ".join(process.cmdline()) or process.cwd().startswith(here)):
                yield process


def this_process() -> ProcessIdentity:
    """The identity of the caller; never cached, since a fork changes it."""
    return process_here(os.getpid())


def process_here(pid: int) -> ProcessIdentity:
    """The identity of a process that the caller can see; one that has ended is dead to everybody."""
    return ProcessIdentity(
        host=platform.node(),
        boot=_boot(),
        pid_namespace=pid_namespace(),
        pid=pid,
        started=start_mark(pid) or "",
    )


def place_and_pid() -> str:
    """Host, boot and pid of the caller, for names of temporary files; costs no look at the system."""
    return f"{platform.node()}~{_boot()[:8]}~{os.getpid()}"


def known_dead(process: ProcessIdentity | None) -> bool:
    """True only where the caller can be sure: same boot, same pid namespace, and no such process.

    A zombie and a pid that was given to a later process are dead. Everywhere else only silence tells.
    """
    return process is not None and is_near(process) and start_mark(process.pid) != process.started


def known_alive(process: ProcessIdentity) -> bool:
    """True only where the caller can be sure: same boot, same pid namespace, and it runs."""
    return is_near(process) and not known_dead(process)


def is_near(process: ProcessIdentity) -> bool:
    """True where its pid means to the caller what it means to itself: signals reach it, its end is seen."""
    return (process.boot, process.pid_namespace) == (_boot(), pid_namespace())
