"""What goes on in a team, as a test sees it from outside: events, journals, and waiting for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.clock import SystemClock
from coordination.events import EventTail
from coordination.team_root import open_team
from harness.journal import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


class Watched:
    """A team at `team_root`, as this process sees it; a test waits for so long at most."""

    patience_seconds: float

    @property
    def team_root(self) -> Path:
        raise NotImplementedError

    def logs(self) -> Iterable[Path]:
        """What the commands of the test wrote."""
        raise NotImplementedError

    def events(self, action: str, **facts: object) -> list[dict[str, Any]]:
        """All events of this action with these fields so far."""
        if not (self.team_root / layout.TEAM_FILE).exists():
            return []
        events = EventTail(open_team(self.team_root).directory).read_new()
        return [event for event in events if event["action"] == action and facts.items() <= event.items()]

    def journal(self, who: str) -> list[dict[str, Any]]:
        return list(read(open_team(self.team_root).directory, layout.journal(who)))

    def until(self, action: str, **facts: object) -> dict[str, Any]:
        """The first event of this action with these fields."""
        self.wait(lambda: bool(self.events(action, **facts)), f"{action} {facts}")
        return self.events(action, **facts)[0]

    def wait(self, condition: Callable[[], bool], what: str = "it") -> None:
        clock, deadline = SystemClock(), SystemClock().monotonic() + self.patience_seconds
        while not condition():
            assert clock.monotonic() < deadline, f"{what} did not happen in time; {self.last_words()}"
            clock.sleep(0.03)

    def last_words(self) -> str:
        """The end of each log, of the test's commands and of the team's members."""
        logs = [*sorted(self.logs()), *(self.team_root / layout.LOGS).glob("*.log")]
        return "\n".join(f"{log.name}: {log.read_text('utf-8', 'replace')[-1500:]}" for log in logs)
