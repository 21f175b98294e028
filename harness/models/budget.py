"""The limits of one agent, put together: whose use counts for it, since when, at which prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.models.ledger import WORKED, Ledger
from harness.models.limited_model import LimitedModel, Scope
from harness.models.prices import PriceTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.clock import Clock
    from coordination.files import StateDirectory
    from harness.models.model import Model
    from harness.settings.settings import Settings
    from harness.tool import Record


NOTED_SECONDS = 30.0  # of which a killed process leaves no note at most, beside the call that runs


class Stopwatch:
    """Minutes since a name was first asked for; another name begins anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._name = ""
        self._began = self._noted = clock.monotonic()

    def minutes(self, name: str = "") -> float:
        if name != self._name:
            self._name, self._began = name, self._clock.monotonic()
            self._noted = self._began
        return (self._clock.monotonic() - self._began) / 60

    def to_note(self) -> float:
        """Seconds that no note was made of, once they are worth one; they count as noted then."""
        now = self._clock.monotonic()
        seconds = now - self._noted
        if seconds < NOTED_SECONDS:
            return 0.0
        self._noted = now
        return round(seconds, 1)


class Budget:
    """What one agent may use, as a member and for its task and team."""

    def __init__(
        self,
        settings: Settings,
        directory: StateDirectory,
        clock: Clock,
        *,
        bearer: str,
        run: str,
        record: Record,
    ) -> None:
        """What is used for the run counts; `bearer` is the process whose model is limited.

        `record` notes the time that it takes, with run and task, so that a successor knows of it.
        """
        self._record = record
        self._directory = directory
        self._bearer = bearer
        self._run = run
        self._member = bearer.partition("~")[0]
        self._of_task, self._of_member = Stopwatch(clock), Stopwatch(clock)
        self._limited: LimitedModel | None = None
        self._task: Callable[[], str] = str
        self._settings = settings

    def limit(self, model: Model, task: Callable[[], str]) -> LimitedModel:
        """The model, which asks no more once a limit is reached; `task` is the id of the present one."""
        self._task = task
        ledger = self._ledger(self._settings, own=self._bearer)
        self._limited = LimitedModel(model, ledger, self._scopes(), noting=self._note_time)
        return self._limited

    def change(self, settings: Settings) -> None:
        """Limits and prices are these from the next call on, also for what was used before. Blocks.

        No call may run meanwhile.
        """
        self._settings = settings
        if self._limited:
            ledger = self._ledger(settings)
            ledger.refresh()
            ledger.leave_out(self._bearer)
            self._limited.change(ledger, self._scopes())

    def _note_time(self) -> None:
        if seconds := self._of_task.to_note():
            self._record(WORKED, seconds=seconds)

    def _ledger(self, settings: Settings, own: str = "") -> Ledger:
        return Ledger(self._directory, PriceTable(settings.prices), run=self._run, own=own)

    def _scopes(self) -> list[Scope]:
        kinds = {
            "task": (self._task, lambda: self._of_task.minutes(self._task())),
            "member": (lambda: self._member, self._of_member.minutes),
            "team": (lambda: "", lambda: 0.0),  # the time of the team is the lead's to watch
        }
        return [
            Scope(kind=kind, limits=self._settings.limits(kind), name=name, minutes=minutes)
            for kind, (name, minutes) in kinds.items()
        ]

    @property
    def lines(self) -> list[str]:
        """What is used of the limits of task, member and team, for the agent; empty without limits."""
        used = self._limited.budget if self._limited else []
        return ["used of your limits:", *used] if used else []
