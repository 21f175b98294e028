"""One lead per root: terms as a numbered log; the number is the term."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from msgspec import structs

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.numbered_log import NumberedLog, Record
from coordination.process import known_dead, this_process
from coordination.protocols import TermOver
from coordination.records import Term

if TYPE_CHECKING:
    from coordination.team_root import Team


@dataclass(eq=False)
class LeadAlive(TeamError):
    """Another process leads this team."""

    term: int
    host: str
    pid: int
    says = (
        "a lead is running for this team (process {pid} on {host}, term {term}); watch it with"
        " `leadhand status`, or stop it with `leadhand stop`"
    )


class TermRules:
    """Any process may take the next term; only the lead itself ends its term."""

    def check(self, state: Term | None, record: Record) -> None:
        term = Term.from_json(record.body)
        if term.ended and (state is None or state.ended or term.process != state.process):
            raise InvalidRecord(why="a term is ended by the lead that holds it, once")

    def apply(self, state: Term | None, record: Record) -> Term:  # noqa: ARG002 - the protocol of a log
        return Term.from_json(record.body)


class Leadership:
    """The terms of this team; an object belongs to one thread."""

    def __init__(self, team: Team) -> None:
        self._clock = team.clock
        self._log = NumberedLog(team.directory, layout.LEAD_LOG, name="lead/terms", rules=TermRules())
        self._told: int | None = None  # the term that the caller was last told of

    def newest(self) -> tuple[int, Term] | None:
        """The highest term and what it says; the end of a term has a number of its own."""
        state = self._log.refresh()
        if state is None:
            return None
        self._told = self._log.number
        return self._told, state

    def take(self, *, silent: bool = False) -> int:
        """The caller leads; returns its term. Its beat is that of `lead~<term>`.

        `silent` says that the beat of the lead that `newest` last told of stood still for a TTL; it
        says nothing of a lead that came later. Raises LeadAlive.
        """
        silent_term = self._told if silent else None

        def draft(state: Term | None, _: int) -> dict[str, Any]:
            present = self._log.number
            if state and not state.ended and present != silent_term and not known_dead(state.process):
                raise LeadAlive(term=present, host=state.process.host, pid=state.process.pid)
            return Term(
                process=this_process(), version=version("leadhand"), at=iso(self._clock.now())
            ).to_json()

        self._log.commit(draft)
        return self._log.number

    def end(self, term: int) -> None:
        """The lead left on purpose, so the next one need not wait. Raises TermOver."""

        def draft(state: Term | None, _: int) -> dict[str, Any]:
            if state is None or state.ended or self._log.number != term:
                raise TermOver(term=term, present=self._log.number)
            return structs.replace(state, ended=True, at=iso(self._clock.now())).to_json()

        self._log.commit(draft)

    def is_current(self, term: int) -> bool:
        """False as soon as another process took the next term; one failing open when nothing is new."""
        state = self._log.refresh()
        return state is not None and not state.ended and self._log.number == term

    def led(self) -> tuple[int, Term] | None:
        """The newest term, unless its lead left or is known to be dead."""
        state = self._log.refresh()
        return (
            None if state is None or state.ended or known_dead(state.process) else (self._log.number, state)
        )

    def present(self) -> int:
        """The highest term that a lead took, ended or not; 0 before the first."""
        state, newest = self._log.refresh(), self._log.newest
        return newest.prev if newest and state and state.ended else self._log.number
