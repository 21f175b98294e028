"""Leads and members of a team, some of them processes that are dead or far away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from coordination import layout
from coordination.leadership import TermRules
from coordination.numbered_log import NumberedLog
from coordination.process import this_process
from coordination.records import Member, MemberState, Status, Task, Term
from coordination.roster import Roster
from coordination.stores import Stores, open_stores
from coordination.tasks.refusals import Claimant

if TYPE_CHECKING:
    from typing import Any

    from coordination.identity import ProcessIdentity
    from coordination.team_root import Team


def dead() -> ProcessIdentity:
    """A process of this machine that is known to be gone."""
    return structs.replace(this_process(), started="never")


def elsewhere() -> ProcessIdentity:
    """A process of which only its beat tells whether it lives."""
    return structs.replace(this_process(), boot="another boot", host="far", pid=4711)


class RosterOf(Roster):
    """The roster as another process writes it."""

    def __init__(self, team: Team, process: ProcessIdentity) -> None:
        super().__init__(team, "person")
        self._process = process

    def _incarnate(self, member: Member, number: int, state: MemberState) -> Member:
        return structs.replace(super()._incarnate(member, number, state), process=self._process)


def comes_alive(team: Team, name: str, process: ProcessIdentity | None = None, **details: Any) -> Member:
    """The name is a living member, borne by that process (or this one)."""
    roster = RosterOf(team, process or this_process())
    return roster.come_alive(name, roster.start(name, **details).spawn_id)


def stores_of(team: Team, member: Member) -> Stores:
    """What the member itself sees and does."""
    return open_stores(team, member.bearer)


def leads(team: Team, process: ProcessIdentity | None = None) -> Stores:
    """The stores of the process (or this one), which took the next term."""
    log = NumberedLog(team.directory, layout.LEAD_LOG, name="lead/terms", rules=TermRules())
    log.commit(lambda _, __: Term(process=process or this_process()).to_json())
    assert log.newest is not None
    return open_stores(team, layout.bearer("lead", log.newest.number))


def claimant(member: Member) -> Claimant:
    return Claimant(name=member.name, incarnation=member.incarnation or 0, role=member.role)


def a_task(number: int = 1, status: Status = Status.PENDING, **fields: Any) -> Task:
    """A task that is on no board; its id ends with the number."""
    return Task(**{"subject": f"Task {number}", "id": task_id(number), "status": status, **fields})


def task_id(number: int) -> str:
    return f"task_{number:08x}"
