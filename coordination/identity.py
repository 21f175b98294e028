"""Names for things and processes, as values."""

from __future__ import annotations

import secrets

import msgspec


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A process, so exactly that a reused pid is not mistaken for it."""

    host: str  # node name, for people
    boot: str  # boot id of the kernel it runs on
    pid_namespace: str  # pids mean something only inside one
    pid: int
    started: str  # start time in clock ticks or seconds since boot; compared as text


def new_id(prefix: str) -> str:
    """A fresh id of 8 hex digits behind its prefix: `task_1f3a09bc`."""
    return f"{prefix}_{secrets.token_hex(4)}"
