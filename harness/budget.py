"""The limits of one agent, put together: whose use counts for it, since when, at which prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.ledger import Ledger
from harness.limited_model import LimitedModel, Scope
from harness.prices import PriceTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.clock import Clock
    from coordination.files import StateDirectory
    from harness.model import Model
    from harness.settings import Settings


class Stopwatch:
    """Minutes since a name was first asked for; another name begins anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._name = ""
        self._began = clock.monotonic()

    def minutes(self, name: str = "") -> float:
        if name != self._name:
            self._name, self._began = name, self._clock.monotonic()
        return (self._clock.monotonic() - self._began) / 60


class Budget:
    """What one agent may use, as a member and for its task and team."""

    def __init__(
        self, settings: Settings, directory: StateDirectory, clock: Clock, *, bearer: str, run: str
    ) -> None:
        """What is used for the run counts; `bearer` is the process whose model is limited."""
        self._settings = settings
        self._member = bearer.partition("~")[0]
        self._of_task, self._of_member = Stopwatch(clock), Stopwatch(clock)
        self._limited: LimitedModel | None = None
        self._ledger = Ledger(directory, PriceTable(settings.prices), run=run, own=bearer)

    def limit(self, model: Model, task: Callable[[], str]) -> LimitedModel:
        """The model, which asks no more once a limit is reached; `task` is the id of the present one."""
        kinds = {
            "task": (task, lambda: self._of_task.minutes(task())),
            "member": (lambda: self._member, self._of_member.minutes),
            "team": (lambda: "", lambda: 0.0),  # the time of the team is the lead's to watch
        }
        scopes = [
            Scope(kind=kind, limits=self._settings.limits(kind), name=name, minutes=minutes)
            for kind, (name, minutes) in kinds.items()
        ]
        self._limited = LimitedModel(model, self._ledger, scopes)
        return self._limited

    @property
    def lines(self) -> list[str]:
        """What is used of the limits of task, member and team, for the agent; empty without limits."""
        used = self._limited.budget if self._limited else []
        return ["used of your limits:", *used] if used else []
