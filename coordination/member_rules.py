"""The life of a member as one table: which record may follow which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import InvalidRecord, TeamError
from coordination.records import Member, MemberState

if TYPE_CHECKING:
    from collections.abc import Mapping

RESERVED = frozenset({"lead", "agent", "person"})


@dataclass(eq=False)
class NameInvalid(TeamError):
    """The text cannot be the name of a member."""

    name: str
    says = "{name!r} is no name for a member; use 1 to 64 letters, digits, - and _"


@dataclass(eq=False)
class NameReserved(TeamError):
    """The name means somebody else."""

    name: str
    says = "the name {name} is reserved; choose another"


@dataclass(eq=False)
class InvalidMemberChange(TeamError):
    """A member cannot go from one state to the other."""

    name: str
    before: str
    after: str
    says = "{name} is {before} and cannot become {after}"


class Bearer(StrEnum):
    """Who bears the name after a change."""

    NEW = "new"  # a new start
    NEXT = "next"  # the same start, a new incarnation
    SAME = "same"  # the same incarnation


_STARTING, _ALIVE, _CLOSING = MemberState.STARTING, MemberState.ALIVE, MemberState.CLOSING
_CLOSED, _WITHDRAWN, _SUPERSEDED = MemberState.CLOSED, MemberState.WITHDRAWN, MemberState.SUPERSEDED

# From state and to state: who may bear the name afterwards. Same to same also carries the term of a new lead.
MEMBER_TRANSITIONS: Mapping[tuple[MemberState | None, MemberState], frozenset[Bearer]] = {
    (None, _STARTING): frozenset({Bearer.NEW}),
    (_CLOSED, _STARTING): frozenset({Bearer.NEW}),
    (_WITHDRAWN, _STARTING): frozenset({Bearer.NEW}),
    (_STARTING, _STARTING): frozenset({Bearer.SAME}),
    (_STARTING, _WITHDRAWN): frozenset({Bearer.SAME}),
    (_STARTING, _ALIVE): frozenset({Bearer.NEXT}),
    (_ALIVE, _ALIVE): frozenset({Bearer.SAME, Bearer.NEXT}),  # a new value, or a restart
    (_ALIVE, _CLOSING): frozenset({Bearer.SAME}),
    (_ALIVE, _SUPERSEDED): frozenset({Bearer.NEXT}),
    (_CLOSING, _CLOSING): frozenset({Bearer.SAME}),
    (_CLOSING, _ALIVE): frozenset({Bearer.NEXT}),
    (_CLOSING, _SUPERSEDED): frozenset({Bearer.NEXT}),
    (_CLOSING, _CLOSED): frozenset({Bearer.SAME}),
    (_SUPERSEDED, _SUPERSEDED): frozenset({Bearer.SAME, Bearer.NEXT}),
    (_SUPERSEDED, _ALIVE): frozenset({Bearer.NEXT}),
    (_SUPERSEDED, _CLOSED): frozenset({Bearer.SAME}),
}


def check_name(name: str) -> None:
    """Raise NameInvalid or NameReserved unless a member may be called so."""
    if not layout.MEMBER_NAME.fullmatch(name):
        raise NameInvalid(name=name)
    if name.lower() in RESERVED:
        raise NameReserved(name=name)


def check_member(before: Member | None, after: Member, number: int) -> None:
    """Raise InvalidRecord unless record `number` of a name may say `after`.

    One bearer at a time; an incarnation is the number of the record that made it.
    """
    if before and after.name != before.name:
        raise InvalidRecord(why=f"the name is spelled {before.name}")
    if before and after.term < before.term:
        raise InvalidRecord(why=f"its term {after.term} is over, {before.term} came before it")
    allowed = MEMBER_TRANSITIONS.get((before.state if before else None, after.state), frozenset())
    if _bearer(before, after, number) not in allowed:
        was = before.state if before else "new"
        raise InvalidRecord(why=f"a member that is {was} cannot become {after.state} like this")


def _bearer(before: Member | None, after: Member, number: int) -> Bearer | None:
    if after.start == number and after.incarnation is None:
        return Bearer.NEW
    if before is None or (after.start, after.spawn_id) != (before.start, before.spawn_id):
        return None
    if after.incarnation == number and after.process is not None:
        return Bearer.NEXT
    same = (after.incarnation, after.process) == (before.incarnation, before.process)
    return Bearer.SAME if same else None
