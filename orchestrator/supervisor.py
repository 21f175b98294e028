"""The processes of the team: start them, notice their end, stop them."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import TeamError
from coordination.member_rules import InvalidMemberChange
from coordination.orders import ask_to_stop
from coordination.process import known_alive, known_dead, this_process
from coordination.protocols import Kind
from coordination.records import MemberState
from coordination.roster import Superseded
from orchestrator.launchers.launcher import StartOrder
from orchestrator.restarts import Restarts
from orchestrator.stopping import end_process

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from coordination.records import Member
    from coordination.stores import Stores
    from orchestrator.launchers.launcher import Launcher, StartedProcess

LIVING = frozenset({MemberState.STARTING, MemberState.ALIVE, MemberState.CLOSING, MemberState.SUPERSEDED})
LOOK_SECONDS = 0.1


@dataclass(eq=False)
class StartFailed(TeamError):
    """No process could be started for a member; its name is free again."""

    name: str
    cause: str
    says = "{name} could not be started ({cause}); mend that, then start it again"


class Supervisor:
    """The members of one lead; an object belongs to one thread."""

    def __init__(
        self,
        stores: Stores,
        launcher: Launcher,
        *,
        given: Mapping[str, object],
        link: Callable[[str], socket.socket | None] = lambda _: None,
        restarts: int = 0,
    ) -> None:
        """`given` is what teammates get from the lead, credentials among it.

        `link` gives, for a name, the socket over which that member may ask for shared MCP servers.
        A member that dies is started again so often in a row.
        """
        self._stores = stores
        self._team = stores.team
        self._launcher = launcher
        self.given = given
        self._link = link
        self._started: dict[str, StartedProcess] = {}
        self._leaving: list[StartedProcess] = []  # have closed their names, which others bear by now
        self._restarts = Restarts(stores.team.clock, most=restarts)
        self._is_stopping = False

    def launch(self, member: Member) -> None:
        """A process was started for a member that is `starting`. Raises TermOver, RootLost, StartFailed."""
        self._stores.check_term()
        try:
            process = self._start(member, after=None)
        except OSError as error:
            failed = StartFailed(name=member.name, cause=str(error))
            self._withdraw(member, str(failed))
            self._stores.events.record("start_failed", member=member.name, why=str(failed))
            raise failed from error
        self._stores.events.record("started", member=member.name, role=member.role, pid=process.pid)

    def _start(self, member: Member, *, after: int | None) -> StartedProcess:
        """Raises RootLost, OSError."""
        with self._link(member.name) or nullcontext() as link:
            order = StartOrder(
                name=member.name,
                spawn_id=member.spawn_id,
                root=self._team.root,
                log=self._team.root / layout.process_log(member.name),
                given=self.given,
                link=link.fileno() if link else None,
                after=after,
            )
            try:
                process = self._launcher.start(order)
            except OSError:
                self._team.directory.check()  # where the root is gone, that is why
                raise
        if former := self._started.get(member.name):
            self._leaving.append(former)
        self._started[member.name] = process
        self._restarts.began(member.name)
        return process

    def living(self) -> list[Member]:
        """The members that are there or on their way."""
        return [member for member in self._stores.roster.all() if member.state in LIVING]

    def sees_to(self, member: Member) -> bool:
        """True until a look has found the process that it started for the member ended."""
        return member.name in self._started

    @property
    def has_news(self) -> bool:
        """True when a look would find an ended process, or a restart whose time has come."""
        return self._restarts.is_due or any(
            process.ended() is not None for process in list(self._started.values())
        )

    def look(self) -> None:
        """Ended processes are collected; a start whose process ended before it came alive is withdrawn.

        So is one that an earlier lead recorded when it woke too late: nobody will launch it. A member
        that died is started again when its time has come.
        """
        for member in self._stores.roster.all():
            if member.state is MemberState.STARTING and member.term < self._stores.leadership.present():
                self._withdraw(member, "the lead that asked for it has ended")
        for name, process in list(self._started.items()):
            code = process.ended()
            if code is not None:
                del self._started[name]
                self._stores.events.record("process_ended", member=name, exit_code=code)
                self._see_to(name, code)
        self._leaving = [process for process in self._leaving if process.ended() is None]
        for name in self._restarts.take_due():
            self._restart(name)

    def _see_to(self, name: str, code: int) -> None:
        member = self._stores.roster.member(name)
        if member and member.state is MemberState.STARTING:
            why = f"its process ended with {code} before it came alive; see {layout.process_log(name)}"
            self._withdraw(member, why)
            self._stores.events.record("start_failed", member=name, why=why)
        elif member and self._is_missed(member):
            self._promise(member, f"exit code {code}")

    def _is_missed(self, member: Member) -> bool:
        """Its process is gone, and nobody had asked it to leave."""
        questions = (state.question for state in self._stores.requests.open())
        asked = any((of.kind, of.subject) == (Kind.SHUTDOWN, member.bearer) for of in questions)
        has_died = member.state is MemberState.ALIVE and known_dead(member.process)
        return has_died and not (asked or self._is_stopping)

    def _promise(self, member: Member, how: str) -> None:
        """The dead comes back, as the roster says, so that nobody takes its task; or it died too often."""
        deaths = self._restarts.count(member.name) + 1
        delay = self._restarts.died(member.name)
        with suppress(Superseded, InvalidMemberChange):  # an observer was faster: its task is another's
            self._stores.roster.update(member.name, member.incarnation, comes_back=delay is not None)
        facts = {"member": member.name, "deaths": deaths, "how": how}
        if delay is None:
            self._stores.events.record("restarts_end", **facts)
        else:
            self._stores.events.record("restarts", seconds=delay, **facts)

    def _restart(self, name: str) -> None:
        member = self._stores.roster.member(name)
        if member and member.comes_back and self._is_missed(member):
            self._stores.check_term()
            try:
                process = self._start(member, after=member.incarnation)
            except OSError as error:  # no room for a process: as if it had died once more
                self._promise(member, str(error))
                return
            self._stores.events.record("restarted", member=name, pid=process.pid)

    def _withdraw(self, member: Member, why: str) -> None:
        with suppress(InvalidMemberChange):  # it has just come alive
            self._stores.roster.withdraw(member.name, member.spawn_id, why)

    def stop_all(self, *, patience_seconds: float) -> None:
        """Nobody is left: asked first, ended after the patience, verified gone."""
        self._is_stopping = True
        asked = self.living()
        for member in asked:
            self._ask_to_end(member)
        deadline = self._team.clock.monotonic() + patience_seconds
        while (left := self._left(asked)) and self._team.clock.monotonic() < deadline:
            self._team.clock.sleep(LOOK_SECONDS)
            self.look()
        for member in left:
            self._end(member)
        for process in (*self._started.values(), *self._leaving):
            process.stop(patience_seconds=patience_seconds)
        self._started.clear()
        self._leaving.clear()

    def _left(self, asked: Sequence[Member]) -> list[Member]:
        """Those that are on the roster still, or whose process has said goodbye and runs."""
        living, me = self.living(), this_process()
        closed = {member.name: member for member in asked} | {member.name: None for member in living}
        runs = (member for member in closed.values() if member and member.process not in {None, me})
        return living + [member for member in runs if member.process and known_alive(member.process)]

    def _ask_to_end(self, member: Member) -> None:
        if member.state is MemberState.STARTING:
            try:
                self._stores.roster.withdraw(member.name, member.spawn_id, "the team is stopped")
            except InvalidMemberChange:  # it has just come alive
                member = self._stores.roster.member(member.name) or member
            else:
                return
        ask_to_stop(self._stores, member.bearer)

    def _end(self, member: Member) -> None:
        """A member that did not stop by itself, whoever started it, is ended where that can be done."""
        started = self._started.pop(member.name, None)
        if started:
            started.stop(patience_seconds=2.0)
        elif member.process != this_process():  # this lead may be the one that was burying the name
            end_process(self._stores, member)
        self._stores.events.record("ended", member=member.name)
