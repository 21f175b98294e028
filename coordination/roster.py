"""Who is on the team: one numbered log per name, from starting to closed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.identity import new_id
from coordination.member_rules import MEMBER_TRANSITIONS, InvalidMemberChange, check_member, check_name
from coordination.numbered_log import LogKind, Logs, Record
from coordination.process import this_process
from coordination.protocols import term_to_write
from coordination.records import Member, MemberState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordination.team_root import Team

GONE = frozenset({MemberState.CLOSED, MemberState.WITHDRAWN})  # the name is free for a new bearer


@dataclass(eq=False)
class NameTaken(TeamError):
    """Somebody bears the name, perhaps in other letters."""

    name: str
    bearer: str
    says = "the name {name} already exists, {bearer} bears it; choose another"


@dataclass(eq=False)
class UnknownMember(TeamError):
    """Nobody of this name is or was on the team."""

    name: str
    known: str
    says = "there is no member {name}; known are: {known}"


@dataclass(eq=False)
class StartWithdrawn(TeamError):
    """The start that this process was launched for is over."""

    name: str
    state: str
    says = "the start of {name} does not stand any more (its entry is {state}); this process has to exit"


@dataclass(eq=False)
class Superseded(TeamError):
    """Another process bears the name by now."""

    name: str
    incarnation: int | None
    present: int | None
    says = "{name}~{incarnation} was superseded by {name}~{present}; that process writes nothing more"


def since(term: int, members: Iterable[Member]) -> list[Member]:
    """Those of them who had not left before that term of leadership."""
    return [member for member in members if member.state not in GONE or member.term >= term]


class StartDetails(TypedDict, total=False):
    """What is known of a member before it starts."""

    role: str
    model: str | None
    plan_required: bool
    reserved_task: str | None
    launcher: str  # local, hand, …
    digests: dict[str, str]
    why: str


class MemberFields(TypedDict, total=False):
    """What may change while a member lives."""

    plan_required: bool
    reserved_task: str | None
    waiting_on: str | None
    model: str | None
    comes_back: bool
    why: str


class MemberRules:
    """The records of one name, whatever letters it is spelled in."""

    def __init__(self, key: str) -> None:
        self._key = key  # the name in small letters

    def check(self, state: Member | None, record: Record) -> None:
        member = Member.from_json(record.body)
        if member.name.lower() != self._key:
            raise InvalidRecord(why=f"the log is that of another name than {member.name}")
        check_member(state, member, record.number)

    def apply(self, state: Member | None, record: Record) -> Member:  # noqa: ARG002 - the protocol of a log
        return Member.from_json(record.body)


MEMBER = LogKind(name="member", parent=layout.MEMBERS, ids=layout.MEMBER_KEY, rules=MemberRules)


class Roster:
    """The members of the team; an object belongs to one thread.

    The log of a name lies under its small letters, so that names which differ only by case contend
    for the same number. A name keeps its spelling as long as the team root lives.
    """

    def __init__(self, team: Team, actor: str, term: Callable[[], int] = lambda: 0) -> None:
        self._team = team
        self._actor = actor
        self._term = term
        self._logs = Logs(team.directory, MEMBER)

    def names(self) -> list[str]:
        """The names that were ever borne, sorted."""
        return [member.name for member in self.all()]

    def all(self) -> list[Member]:
        """The newest state of each name, sorted by name."""
        return sorted(self._logs.states(), key=lambda member: member.name)

    def member(self, name: str) -> Member | None:
        """The newest state of exactly this name; None when nobody ever bore it."""
        if not layout.MEMBER_NAME.fullmatch(name):
            return None
        member = self._logs[name.lower()].refresh()
        return member if member and member.name == name else None

    def history(self, name: str) -> list[Member]:
        """Every state of the name, oldest first."""
        return [Member.from_json(record.body) for record in self._logs[name.lower()].records()]

    def bearers(self, member: Member) -> list[str]:
        """The processes that bore the name since the member's start, newest first."""
        own = [past.incarnation for past in self.history(member.name) if past.start == member.start]
        numbers = sorted({number for number in own if number}, reverse=True)
        return [layout.bearer(member.name, number) for number in numbers]

    def is_present(self, bearer: str) -> bool:
        """True when `alice~7` is the newest incarnation of its name and not closed."""
        parts = layout.split_bearer(bearer)
        member = self.member(parts[0]) if parts else None
        if parts is None or member is None:
            return False
        return member.incarnation == parts[1] and member.state not in GONE

    def check_newest(self, name: str, incarnation: int | None = None) -> Member:
        """The newest state, which is that of the incarnation named. Raises UnknownMember, Superseded."""
        return self._expect(name, self.member(name), incarnation)

    def start(self, name: str, *, spawn_id: str | None = None, **details: Unpack[StartDetails]) -> Member:
        """The name is `starting`; only a process with the spawn id may become it.

        Mail goes on where the last bearer closed. Raises NameInvalid, NameReserved, NameTaken, TermOver.
        """
        check_name(name)
        spawn = spawn_id or new_id("spawn")

        def change(state: Member | None, number: int) -> Member:
            if state and (state.state not in GONE or state.name != name):
                raise NameTaken(name=name, bearer=state.name)
            return Member(
                name=name,
                state=MemberState.STARTING,
                start=number,
                spawn_id=spawn,
                positions=state.positions if state else {},
                **details,
            )

        return self._commit(name, change)

    def come_alive(self, name: str, spawn_id: str) -> Member:
        """The caller is the member; its incarnation is the number of the record. Raises StartWithdrawn."""

        def change(state: Member | None, number: int) -> Member:
            if state is None or (state.name, state.state, state.spawn_id) != (
                name,
                MemberState.STARTING,
                spawn_id,
            ):
                raise StartWithdrawn(name=name, state=state.state if state else "missing")
            return self._incarnate(state, number, MemberState.ALIVE)

        return self._commit(name, change)

    def restart(self, name: str, *, after: int | None = None) -> Member:
        """The caller goes on as the member, as a new incarnation of the same start.

        `after` is the incarnation that it follows, where only that one may be followed. Raises
        UnknownMember, Superseded, and InvalidMemberChange where the bearer is closed or never lived.
        """

        def change(state: Member | None, number: int) -> Member:
            return self._incarnate(self._expect(name, state, after), number, MemberState.ALIVE)

        return self._commit(name, change)

    def update(self, name: str, incarnation: int | None, **fields: Unpack[MemberFields]) -> Member:
        """The member has these fields, in the state it is in.

        None means whichever incarnation it is; without fields it takes on the term of a new lead.
        Raises UnknownMember, Superseded, TermOver.
        """
        return self._set(name, incarnation, **fields)

    def closing(self, name: str, incarnation: int, why: str = "") -> Member:
        """The member takes in mail for the last time. Raises UnknownMember, Superseded."""
        return self._set(name, incarnation, state=MemberState.CLOSING, why=why)

    def closed(self, name: str, incarnation: int, positions: dict[str, int], why: str = "") -> Member:
        """The name is free; `positions` says how far each source was taken. Raises as `closing`."""
        return self._set(name, incarnation, state=MemberState.CLOSED, positions=positions, why=why)

    def withdraw(self, name: str, spawn_id: str, why: str = "") -> Member:
        """The start is called off; a process launched for it will exit.

        Raises UnknownMember, and InvalidMemberChange when the member came alive before.
        """

        def change(state: Member | None, _: int) -> Member:
            member = self._expect(name, state, None)
            if member.spawn_id != spawn_id:
                raise InvalidMemberChange(name=name, before="another start", after=MemberState.WITHDRAWN)
            return msgspec.structs.replace(member, state=MemberState.WITHDRAWN, why=why)

        return self._commit(name, change)

    def supersede(self, name: str, incarnation: int, why: str = "") -> Member:
        """The caller stands in for a dead incarnation, to drain its mail and close the name.

        Raises UnknownMember, and Superseded when another process was first.
        """

        def change(state: Member | None, number: int) -> Member:
            member = self._incarnate(self._expect(name, state, incarnation), number, MemberState.SUPERSEDED)
            return msgspec.structs.replace(member, by=self._actor, why=why)

        return self._commit(name, change)

    def _set(self, name: str, incarnation: int | None, **fields: object) -> Member:
        def change(state: Member | None, _: int) -> Member:
            return msgspec.structs.replace(self._expect(name, state, incarnation), **fields)

        return self._commit(name, change)

    def _incarnate(self, member: Member, number: int, state: MemberState) -> Member:
        return msgspec.structs.replace(
            member,
            state=state,
            incarnation=number,
            comes_back=False,
            process=this_process(),
            version=version("leadhand"),
            by=layout.bearer(member.name, number),
        )

    def _commit(self, name: str, change: Callable[[Member | None, int], Member]) -> Member:
        def draft(state: Member | None, number: int) -> dict[str, Any]:
            member = change(state, number)
            before = state.state if state else None
            if (before, member.state) not in MEMBER_TRANSITIONS:
                raise InvalidMemberChange(name=name, before=before or "new", after=member.state)
            term = term_to_write(self._actor, self._term(), state.term if state else 0)
            own = member.by if member.incarnation == number else self._actor
            stamped = msgspec.structs.replace(member, by=own, term=term, at=iso(self._team.clock.now()))
            return stamped.to_json()

        return self._logs[name.lower()].commit(draft)

    def _expect(self, name: str, state: Member | None, incarnation: int | None) -> Member:
        if state is None or state.name != name:
            raise UnknownMember(name=name, known=", ".join(self.names()) or "none")
        if incarnation is not None and state.incarnation != incarnation:
            raise Superseded(name=name, incarnation=incarnation, present=state.incarnation)
        return state
