"""Whether the team rests: one numbered log of the person's word on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord
from coordination.numbered_log import NumberedLog, Record
from coordination.records import JsonRecord

if TYPE_CHECKING:
    from coordination.team_root import Team


class Pause(JsonRecord, frozen=True, kw_only=True):
    """What was last said."""

    paused: bool
    by: str
    at: str


class PauseRules:
    """On and off by turns, beginning with on."""

    def check(self, state: Pause | None, record: Record) -> None:
        if Pause.from_json(record.body).paused is (state is not None and state.paused):
            raise InvalidRecord(why="it says what held already")

    def apply(self, state: Pause | None, record: Record) -> Pause:  # noqa: ARG002 - the protocol of a log
        return Pause.from_json(record.body)


class Pauses:
    """The rest of the team; an object belongs to one thread."""

    def __init__(self, team: Team, actor: str) -> None:
        self._team = team
        self._actor = actor
        self._log = NumberedLog(team.directory, layout.PAUSE, name="pause/team", rules=PauseRules())

    def is_on(self) -> bool:
        """True while nobody is to begin a model call or a task."""
        state = self._log.refresh()
        return state is not None and state.paused

    def state(self) -> Pause | None:
        """Who said what last; None when nobody ever did."""
        return self._log.refresh()

    def say(self, *, paused: bool) -> bool:
        """It is so; False when it was before."""

        def draft(state: Pause | None, _: int) -> dict[str, Any]:
            if paused is (state is not None and state.paused):
                raise _AsBefore
            return Pause(paused=paused, by=self._actor, at=iso(self._team.clock.now())).to_json()

        try:
            self._log.commit(draft)
        except _AsBefore:
            return False
        return True


class _AsBefore(Exception):
    """Nothing is to be said."""
