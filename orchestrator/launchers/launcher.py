"""What a way of starting teammates offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class StartOrder:
    """One teammate process to be started."""

    name: str
    spawn_id: str  # of the roster record that it will answer
    root: Path  # of the team
    log: Path  # where what it prints goes
    after: int | None = None  # the dead incarnation that it goes on for
    given: Mapping[str, object]  # what the lead hands on by a way that nobody else reads: settings, digests
    link: int | None = None  # descriptor of the socket over which it asks for shared MCP servers


class StartedProcess(Protocol):
    """A process that the launcher started, as far as it can be reached."""

    @property
    def pid(self) -> int: ...

    def ended(self) -> int | None:
        """The exit code, or None while it runs; a zombie is collected."""
        ...

    def stop(self, *, patience_seconds: float) -> None:
        """The process and its group are gone: asked with SIGTERM, then forced."""
        ...


class Launcher(Protocol):
    """Starts `agent_worker` somewhere over the shared directory."""

    def start(self, order: StartOrder) -> StartedProcess:
        """The process was started; that it is alive it says itself, in the roster."""
        ...
