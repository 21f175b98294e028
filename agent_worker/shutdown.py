"""Whether a teammate has to stop: by an order on disk, by a signal, or because nothing is left for it."""

from __future__ import annotations


class Shutdown:
    """Whether this process has to stop, and why."""

    def __init__(self) -> None:
        self.why: str | None = None
        self.at_once = False  # not even a check that runs is waited for

    @property
    def asked(self) -> bool:
        return self.why is not None

    def ask(self, why: str, *, at_once: bool = False) -> None:
        """The process stops at the next point where it can."""
        self.why = self.why or why
        self.at_once = self.at_once or at_once
