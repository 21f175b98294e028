"""How often a member that died is started again, and when: at once, then at growing delays, then no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordination.clock import Clock

FIRST_DELAY_SECONDS = 1  # before the second restart; it doubles from one to the next
STEADY_SECONDS = 600.0  # who lived so long had no part in the deaths before


@dataclass
class _Life:
    restarts: int = 0  # without a steady life between them
    began: float = 0.0
    due: float | None = None  # when the next restart is to be made


class Restarts:
    """What one lead does about the deaths of its members; an object belongs to one thread."""

    def __init__(self, clock: Clock, *, most: int) -> None:
        """`most` restarts in a row; none with 0."""
        self._clock = clock
        self._most = most
        self._lives: dict[str, _Life] = {}

    def began(self, name: str) -> None:
        """A process of the member was started."""
        life = self._lives.setdefault(name, _Life())
        life.began, life.due = self._clock.monotonic(), None

    def died(self, name: str) -> int | None:
        """Seconds until it is started again; None when it has died too often."""
        life, now = self._lives.setdefault(name, _Life()), self._clock.monotonic()
        if now - life.began >= STEADY_SECONDS:
            life.restarts = 0
        if life.restarts >= self._most:
            return None
        delay = FIRST_DELAY_SECONDS * 2 ** (life.restarts - 1) if life.restarts else 0
        life.restarts += 1
        life.due = now + delay
        return delay

    def count(self, name: str) -> int:
        """How often in a row it was started again, or is about to be."""
        return self._lives[name].restarts if name in self._lives else 0

    @property
    def is_due(self) -> bool:
        """True when `take_due` would name somebody."""
        now = self._clock.monotonic()
        return any(life.due is not None and life.due <= now for life in list(self._lives.values()))

    def take_due(self) -> list[str]:
        """The members whose time has come; each is named once."""
        now = self._clock.monotonic()
        due = [name for name, life in self._lives.items() if life.due is not None and life.due <= now]
        for name in due:
            self._lives[name].due = None
        return due
