"""One look over the team: take tasks back from the dead and the silent, and close their names."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination import layout
from coordination.liveness import LOOKS_PER_TTL, BeatWatch, read_beat
from coordination.mail.mailbox import Inbox
from coordination.mail.positions import account_of
from coordination.mail.state import left_over
from coordination.process import known_dead
from coordination.protocols import lead_term
from coordination.records import BY_HAND, Member, MemberState, Status
from coordination.roster import GONE, Superseded
from coordination.tasks.refusals import NotUnclaimed, UnknownTask
from coordination.tasks.rules import InvalidTransition, StaleToken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.profile import Ttl
    from coordination.stores import Stores

LOOKS_OF_LEAD = 2  # that a teammate leaves the lead time for to see to a dead member
SETTLED_SECONDS = 60.0  # after which nobody is still at work on a name that was closed
REPAIR_SECONDS = 30.0  # between scans of the whole board
_MAY_DIE = {MemberState.ALIVE, MemberState.CLOSING, MemberState.SUPERSEDED}


class Sweep:
    """Looks of one observer; an object belongs to one thread. Any member may sweep, several do."""

    def __init__(self, stores: Stores, *, ttl: Ttl) -> None:
        self.is_seen_to: Callable[[Member], bool] = lambda _: False  # by whoever started it, first
        self._me = stores.actor
        self._team = stores.team
        self._store = stores.tasks
        self._roster = stores.roster
        self._outbox = stores.outbox
        self._events = stores.events
        self._leadership = stores.leadership
        self._seen_dead: dict[str, float] = {}
        self._ttl = ttl
        self._watch = BeatWatch(stores.team.clock, ttl)
        self._repaired = stores.team.clock.monotonic()
        self._returned: dict[str, tuple[int | None, MemberState]] = {}  # newest states that need no look
        self._returned_of: set[tuple[str, int | None]] = set()  # names and starts of the gone
        self._gone_since: dict[tuple[str, int | None], float] = {}
        self._lifted: set[tuple[str, int | None]] = set()

    def count_only(self, *, if_on_time: bool) -> None:
        """Nobody is called silent by an observer whose own beat fails or was late."""
        self._watch.count_only(if_on_time=if_on_time)

    def look(self) -> None:
        """The tasks of members found dead are ready again, and their mail went back to its senders.

        Nothing is reserved any more for those who are gone.
        """
        lost: list[tuple[Member, str]] = []
        for member in self._roster.all():
            if lead_term(self._me):  # one observer alone, or senders would get it twice
                self._return_mail(member)
            if member.state in GONE and member.reserved_task:
                self._lift(member, member.reserved_task)
            if member.state not in _MAY_DIE or member.bearer == self._me:
                continue
            if why := self._why_lost(member):
                self._take_back(member, why)
                lost.append((member, why))
        self._bury(lost)

    def _lift(self, gone: Member, task_id: str) -> None:
        """The task that waits for somebody who left may be claimed by everybody."""
        if (gone.name, gone.start) in self._lifted:
            return
        self._lifted.add((gone.name, gone.start))
        with suppress(UnknownTask, NotUnclaimed):  # the start was called off before it was there; it is held
            task = self._store.get(task_id)
            if task.reserved_for == gone.name and task.status in {Status.HELD, Status.PENDING}:
                self._store.edit(task_id, reserved_for=None)
                self._events.record(
                    "reservation_lifted", task=task_id, subject=task.subject, member=gone.name
                )

    def _return_mail(self, newest: Member) -> None:
        """What the gone bearers of a name left over is back, also if who closed the name died over it."""
        name, state = newest.name, (newest.start, newest.state)
        if self._returned.get(name) == state:
            return
        gone = [member for member in self._roster.history(name) if member.state in GONE]
        for member in gone:
            if (name, member.start) not in self._returned_of and self._is_settled(member):
                self._returned_of.add((name, member.start))
                self._outbox.send_back(left_over(self._team, self._roster, member), to=name)
        if all((name, member.start) in self._returned_of for member in gone):
            self._returned[name] = state

    def _is_settled(self, member: Member) -> bool:
        """Whoever closed the name has sent back what it will."""
        now = self._team.clock.monotonic()
        since = self._gone_since.setdefault((member.name, member.start), now)
        is_dead = member.process is None or known_dead(member.process)
        return is_dead or now - since >= SETTLED_SECONDS

    def repair_if_due(self) -> bool:
        """Every `REPAIR_SECONDS` the whole board is put in order: hints, pending edges, readable views."""
        now = self._team.clock.monotonic()
        if now - self._repaired < REPAIR_SECONDS:
            return False
        self._repaired = now
        self._store.repair()
        return True

    def _why_lost(self, member: Member) -> str | None:
        bearer = member.bearer
        if known_dead(member.process) and self._is_missed(member):
            return f"the process of {bearer} is dead"
        silence = self._watch.look(bearer, read_beat(self._team, bearer))
        return f"{bearer} was silent for {silence:.0f} s" if self._watch.silent(bearer) else None

    def _is_missed(self, member: Member) -> bool:
        """False while its lead starts the dead again: at its next look it says so, for a TTL at most."""
        if member.state is not MemberState.ALIVE:
            return True
        if member.comes_back or self.is_seen_to(member):
            return False
        is_teammate = layout.split_bearer(self._me) is not None and not lead_term(self._me)
        if not is_teammate or member.launcher == BY_HAND or not self._leadership.led():
            return True
        now = self._team.clock.monotonic()
        patience = self._ttl() * LOOKS_OF_LEAD / LOOKS_PER_TTL
        return now - self._seen_dead.setdefault(member.bearer, now) >= patience

    def _take_back(self, member: Member, why: str) -> None:
        task = self._store.own_unfinished(member.name)
        if task is None or task.lease is None or task.status is not Status.IN_PROGRESS:
            return
        holder = layout.split_bearer(task.lease.holder)
        if holder is None or holder[1] > (member.incarnation or 0):
            return  # a successor goes on with it; one that died before it could has an older one's lease
        with suppress(StaleToken, InvalidTransition):  # another observer was first
            self._store.reclaim(task.id, task.lease.token, why)
            self._events.record("reclaimed", task=task.id, subject=task.subject, why=why)

    def _bury(self, lost: Sequence[tuple[Member, str]]) -> None:
        """The names are closed; who is first does it, the others find it done.

        Their mail is taken in once everybody can see that they are over, and what was sent before is seen.
        """
        heirs = [(member, self._stand_in(member, why), why) for member, why in lost]
        if any(heir for _, heir, _ in heirs):
            self._team.clock.sleep(self._team.mount.settling_seconds)
        for member, heir, why in heirs:
            if heir:
                self._close(member, heir, why)

    def _stand_in(self, member: Member, why: str) -> Member | None:
        """The caller bears the name from now on, to close it; None where another was first."""
        try:
            return self._roster.supersede(member.name, member.incarnation or 0, why)
        except Superseded:
            return None

    def _close(self, member: Member, heir: Member, why: str) -> None:
        assert heir.incarnation is not None
        read = account_of(self._team.directory, self._roster.bearers(member), member.positions)
        positions = read.positions
        inbox = Inbox(self._team, member.name, heir.incarnation, self._roster, positions)
        left = inbox.read_all()
        self._roster.closed(member.name, heir.incarnation, positions.ends, why)
        self._outbox.send_back(left, to=member.name)
        self._events.record("member_lost", member=member.name, why=why)
        if member.reserved_task:
            self._lift(member, member.reserved_task)
