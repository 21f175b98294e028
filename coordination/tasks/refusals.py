"""Why the task store refuses something, one class each, and the pure verdict on a claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import TeamError
from coordination.records import Status, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Names(tuple[str, ...]):
    """Ids or names that print as people list them."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(self)


@dataclass(frozen=True, kw_only=True)
class Claimant:
    """Who wants a task."""

    name: str
    incarnation: int
    role: str = "teammate"

    @property
    def bearer(self) -> str:
        """`alice~7`."""
        return layout.bearer(self.name, self.incarnation)


@dataclass(eq=False)
class UnknownTask(TeamError):
    """The graph names no task with this id."""

    task: str
    says = "there is no task {task}; `leadhand tasks` and `list_tasks` show the ids"


@dataclass(eq=False)
class TaskUnreadable(TeamError):
    """The log of the task holds no valid version."""

    task: str
    why: str
    says = "the files of task {task} cannot be used ({why}); look into .tasks/log/{task}"


@dataclass(eq=False)
class BlankSubject(TeamError):
    """A task without a subject."""

    says = "the subject is blank; say in one line what the task is"


@dataclass(eq=False)
class FieldInvalid(TeamError):
    """A field of a task cannot hold this value."""

    detail: str
    says = "the task was not written: {detail}"


@dataclass(eq=False)
class SelfEdge(TeamError):
    """A task that is to need itself."""

    task: str
    says = "task {task} cannot need itself; nothing was written"


@dataclass(eq=False)
class Cycle(TeamError):
    """Edges that would make tasks wait for each other for ever."""

    task: str
    path: Names
    says = "refused, it would close a cycle in which each task needs the next: {path}; the edge was not added"


@dataclass(eq=False)
class NotUnclaimed(TeamError):
    """The change is possible only before anybody works on the task."""

    task: str
    status: Status
    owner: str | None
    says = "task {task} is {status} (owner: {owner}); only an unclaimed task can be changed"


@dataclass(eq=False)
class NotOwner(TeamError):
    """Somebody who wants to go on with a task that is not theirs."""

    task: str
    owner: str | None
    says = "task {task} is not yours (owner: {owner}); claim another one"


@dataclass(eq=False)
class ClaimRefused(TeamError):
    """The task cannot be claimed by this member now."""

    task: str


@dataclass(eq=False)
class NotReady(ClaimRefused):
    """Tasks that it needs are not completed."""

    blockers: Names
    says = "task {task} waits for {blockers}; claim one of these, or another task"


@dataclass(eq=False)
class EdgesPending(ClaimRefused):
    """An edge onto it waits for its verdict."""

    says = "task {task} is just getting its dependencies; try again in a few seconds"


@dataclass(eq=False)
class AlreadyOwned(ClaimRefused):
    """Somebody else was first."""

    owner: str
    says = "task {task} is owned by {owner}; claim another one"


@dataclass(eq=False)
class HoldsAnother(ClaimRefused):
    """The claimant works on a task already."""

    held: str
    says = "you must finish task {held} before you claim {task}"


@dataclass(eq=False)
class ReservedFor(ClaimRefused):
    """It waits for one member."""

    member: str
    says = "task {task} is reserved for {member}; claim another one"


@dataclass(eq=False)
class WrongRole(ClaimRefused):
    """It wants another role."""

    roles: Names
    says = "task {task} is for the roles {roles}; claim another one"


@dataclass(eq=False)
class NotPending(ClaimRefused):
    """It is over."""

    status: Status
    says = "task {task} is {status}; claim another one"


@dataclass(eq=False)
class NotPublished(ClaimRefused):
    """It is still held back."""

    says = "task {task} is held until it is published; claim another one"


def refuse_claimed(task: Task) -> None:
    """Raise NotUnclaimed unless nobody has begun or ended the task."""
    if task.status not in {Status.HELD, Status.PENDING}:
        raise NotUnclaimed(task=task.id, status=task.status, owner=task.owner)


def refuse_claim(task: Task, claimant: Claimant, find_blockers: Callable[[], Sequence[str]]) -> None:
    """Raise the ClaimRefused that says why this member cannot claim the task; return when it can.

    Blockers are looked for last, and only where they decide.
    """
    if task.status is Status.HELD:
        raise NotPublished(task=task.id)
    if task.status is Status.IN_PROGRESS:
        raise AlreadyOwned(task=task.id, owner=task.owner or "?")
    if task.status is not Status.PENDING:
        raise NotPending(task=task.id, status=task.status)
    if task.reserved_for not in {None, claimant.name}:
        raise ReservedFor(task=task.id, member=task.reserved_for or "?")
    if task.roles and claimant.role not in task.roles:
        raise WrongRole(task=task.id, roles=Names(task.roles))
    if task.edges_pending:
        raise EdgesPending(task=task.id)
    if blockers := find_blockers():
        raise NotReady(task=task.id, blockers=Names(blockers))
