"""A range of ports for one tree, so that the servers of two trees do not meet."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import closing
from pathlib import Path

import platformdirs

from coordination.errors import TeamError
from coordination.locks import HostLock

SIZE = 10
FIRST = 20_000
BEYOND = 32_768  # where Linux begins to draw ports for outgoing connections (ip_local_port_range)


class NoPortsFree(TeamError):
    """Every range is taken by another tree or by other programs."""

    says = "no range of ports is free on this machine; end servers that are left over"


class Ports:
    """One range at most, taken when it is first asked for and kept to the end of the process."""

    def __init__(self, place: Path | None = None) -> None:
        """`place` holds a lock file per range; all teams of a user on this machine share it."""
        self._place = place
        self._range: range | None = None
        self._lock: HostLock | None = None

    def get(self) -> range:
        """Ports that no other tree of this user was given and nobody listens on. Raises NoPortsFree."""
        if self._range is None:
            self._range = self._take()
        return self._range

    def release(self) -> None:
        """Another tree may have the range."""
        if self._lock:
            self._lock.release()
        self._range = self._lock = None

    def _take(self) -> range:
        place = self._place or _usual_place()
        for first in range(FIRST, BEYOND - SIZE + 1, SIZE):
            ports = range(first, first + SIZE)
            lock = HostLock(place / str(first))
            if not lock.acquire():
                continue
            if all(map(_is_free, ports)):
                self._lock = lock
                return ports
            lock.release()
        raise NoPortsFree


def _usual_place() -> Path:
    place = platformdirs.user_state_path("leadhand") / "ports"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that nobody may write to
        place = Path(tempfile.gettempdir(), f"leadhand-{os.getuid()}", "ports")
        place.mkdir(parents=True, exist_ok=True)
    return place


def _is_free(port: int) -> bool:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection that ended is no listener
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
