"""All stores of a team as one process uses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from coordination.background import Jobs
from coordination.events import EventLog
from coordination.keys import Keyring
from coordination.leadership import Leadership
from coordination.mail.outbox import Outbox, person_outbox
from coordination.pause import Pauses
from coordination.protocols import PERSON, term_to_write
from coordination.requests import Requests
from coordination.roster import Roster
from coordination.runs import Runs
from coordination.schedule import Schedule
from coordination.tasks.store import TaskStore

if TYPE_CHECKING:
    from coordination.team_root import Team


@dataclass(frozen=True, kw_only=True)
class Stores:
    """What one actor sees and does; the objects belong to one thread, so a second thread opens its own."""

    team: Team
    actor: str  # `alice~7`, `lead~3` or `person`
    leadership: Leadership
    tasks: TaskStore
    roster: Roster
    requests: Requests
    runs: Runs
    outbox: Outbox
    jobs: Jobs
    schedule: Schedule
    pauses: Pauses
    events: EventLog
    keys: Keyring
    first_key: str | None  # that was handed to the process

    def check_term(self) -> None:
        """Raises TermOver for a lead that is not the newest: asked before what no log can fence."""
        term_to_write(self.actor, self.leadership.present(), 0)

    def again(self) -> Stores:
        """The same for another thread; the audit trail is shared."""
        return open_stores(self.team, self.actor, events=self.events, first_key=self.first_key)


def open_stores(
    team: Team, actor: str, *, events: EventLog | None = None, first_key: str | None = None
) -> Stores:
    """The stores of this actor; a teammate is handed the first key of the team, a host knows it."""
    events = events or EventLog(team.directory, team.clock, actor)
    keys = Keyring(team, first=first_key)
    leadership = Leadership(team)
    term = leadership.present
    roster = Roster(team, actor, term)
    tasks = TaskStore(team, actor, term)
    return Stores(
        team=team,
        actor=actor,
        leadership=leadership,
        tasks=tasks,
        roster=roster,
        requests=Requests(team, actor, term, keys=keys, on_ignored=partial(_note_ignored, events)),
        runs=Runs(team, actor, term, graph=tasks.graph),
        outbox=person_outbox(team, roster) if actor == PERSON else Outbox(team, actor, roster),
        jobs=Jobs(team, actor),
        schedule=Schedule(team, actor, term),
        pauses=Pauses(team, actor),
        events=events,
        keys=keys,
        first_key=first_key,
    )


def _note_ignored(events: EventLog, request: str, number: int, why: str) -> None:
    events.record("security", request=request, number=number, why=why)
