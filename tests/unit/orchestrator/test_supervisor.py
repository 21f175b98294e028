"""Members are started, missed when they end, and nobody is left at the end."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import RootLost
from coordination.orders import ask_to_stop
from coordination.protocols import Kind
from coordination.records import Member, MemberState
from coordination.sweep import Sweep
from orchestrator.launchers.local import LocalLauncher
from orchestrator.supervisor import StartFailed, Supervisor
from tests.support.clock import FakeClock
from tests.support.launcher import FakeLauncher
from tests.support.people import RosterOf, comes_alive, dead, elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.identity import ProcessIdentity
    from coordination.stores import Stores
    from coordination.team_root import Team


class OnSleep(FakeClock):
    """Somebody else does something while the supervisor waits."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        then, self.then = self.then, lambda: None
        then()


@pytest.fixture
def clock() -> OnSleep:
    return OnSleep()


@pytest.fixture
def launcher() -> FakeLauncher:
    return FakeLauncher()


@pytest.fixture
def supervisor(lead: Stores, launcher: FakeLauncher) -> Supervisor:
    return Supervisor(lead, launcher, given={"settings": {"model.api_key": "secret"}})


def state(lead: Stores, name: str) -> MemberState:
    member = lead.roster.member(name)
    assert member
    return member.state


def launched(supervisor: Supervisor, lead: Stores, name: str = "alice") -> Member:
    member = lead.roster.start(name)
    supervisor.launch(member)
    return member


def stops(lead: Stores, name: str) -> Callable[[], object]:
    """The member leaves by itself."""

    def leave() -> None:
        member = lead.roster.member(name)
        assert member
        assert member.incarnation
        lead.roster.closing(name, member.incarnation)
        lead.roster.closed(name, member.incarnation, {})

    return leave


def test_a_start_passes_the_spawn_id_and_the_settings_of_the_lead(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    member = launched(supervisor, lead)
    (order,) = launcher.orders
    assert (order.name, order.spawn_id, order.root) == ("alice", member.spawn_id, lead.team.root)
    assert order.log == lead.team.root / layout.process_log("alice")
    assert order.given == {"settings": {"model.api_key": "secret"}}


def test_a_start_whose_process_ends_before_it_came_alive_is_withdrawn(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:  # W29
    launched(supervisor, lead)
    supervisor.look()
    assert state(lead, "alice") is MemberState.STARTING
    launcher.processes["alice"].exit_code = 1
    supervisor.look()
    member = lead.roster.member("alice")
    assert member
    assert member.state is MemberState.WITHDRAWN
    assert "ended with 1 before it came alive; see .team/logs/alice.log" in member.why


def test_a_process_that_cannot_be_started_because_the_root_is_gone_says_so(lead: Stores) -> None:
    member = lead.roster.start("alice")
    root = lead.team.root
    root.rename(root.with_name("moved"))
    root.mkdir()
    with pytest.raises(RootLost):
        Supervisor(lead, LocalLauncher(), given={}).launch(member)
    assert not list(root.iterdir())


def test_a_process_that_cannot_be_started_leaves_no_name_behind(lead: Stores) -> None:  # W29
    logs = lead.team.root / layout.LOGS
    shutil.rmtree(logs, ignore_errors=True)
    logs.write_text("in the way")
    supervisor = Supervisor(lead, LocalLauncher(), given={})
    with pytest.raises(StartFailed, match=r"alice could not be started \(.*Not a directory"):
        launched(supervisor, lead)
    assert state(lead, "alice") is MemberState.WITHDRAWN
    assert supervisor.living() == []
    logs.unlink()
    assert lead.roster.start("alice").state is MemberState.STARTING


def test_the_end_of_a_member_that_lived_is_left_to_the_sweep(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    lead.roster.come_alive("alice", launched(supervisor, lead).spawn_id)
    launcher.processes["alice"].exit_code = -9
    supervisor.look()
    assert state(lead, "alice") is MemberState.ALIVE


def test_who_is_closed_or_withdrawn_is_not_counted(supervisor: Supervisor, lead: Stores, team: Team) -> None:
    comes_alive(team, "alice")
    comes_alive(team, "bob")
    lead.roster.start("carol")
    lead.roster.start("dave")
    lead.roster.withdraw("carol", _spawn(lead, "carol"))
    stops(lead, "bob")()
    assert [member.name for member in supervisor.living()] == ["alice", "dave"]


def _spawn(lead: Stores, name: str) -> str:
    member = lead.roster.member(name)
    assert member
    return member.spawn_id


# the end of the team


def test_a_member_that_stops_when_asked_is_not_forced(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher, clock: OnSleep
) -> None:
    lead.roster.come_alive("alice", launched(supervisor, lead).spawn_id)
    launcher.processes["alice"].exit_code = 0
    clock.then = stops(lead, "alice")
    supervisor.stop_all(patience_seconds=5)
    (asked,) = lead.requests.open()
    assert (asked.question.kind, asked.question.subject) == (Kind.SHUTDOWN, "alice~2")
    assert not launcher.processes["alice"].stopped
    assert supervisor.living() == []


def test_a_member_that_does_not_stop_is_ended_after_the_patience(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher, clock: FakeClock
) -> None:  # W16
    lead.roster.come_alive("alice", launched(supervisor, lead).spawn_id)
    before = clock.monotonic()
    supervisor.stop_all(patience_seconds=5)
    assert launcher.processes["alice"].stopped
    assert clock.monotonic() - before == pytest.approx(5, abs=0.2)


def test_a_start_under_way_is_called_off_and_its_process_ended(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    launched(supervisor, lead)
    supervisor.stop_all(patience_seconds=5)
    assert state(lead, "alice") is MemberState.WITHDRAWN
    assert launcher.processes["alice"].stopped


def test_a_member_that_comes_alive_in_that_very_moment_is_asked_instead(
    lead: Stores, launcher: FakeLauncher
) -> None:
    supervisor = Supervisor(lead, launcher, given={})
    start = launched(supervisor, lead)
    lead.roster.come_alive("alice", start.spawn_id)
    supervisor._ask_to_end(start)  # as it was listed
    assert [asked.question.subject for asked in lead.requests.open()] == ["alice~2"]


@pytest.mark.parametrize("process", [dead(), elsewhere()])
def test_a_member_that_cannot_be_reached_from_here_is_not_signalled(
    supervisor: Supervisor, lead: Stores, team: Team, process: ProcessIdentity
) -> None:
    comes_alive(team, "alice", process)
    supervisor.stop_all(patience_seconds=0.2)
    assert state(lead, "alice") is MemberState.ALIVE


def test_the_lead_never_ends_itself_for_a_name_that_it_was_burying(
    supervisor: Supervisor, lead: Stores, team: Team
) -> None:
    alice = comes_alive(team, "alice", dead())
    lead.roster.supersede("alice", alice.incarnation or 0, "dead")  # the disk filled before it closed
    supervisor.stop_all(patience_seconds=0.2)  # SIGTERM to this process would end the test


def test_a_process_that_lingers_is_ended_although_another_bears_its_name(
    supervisor: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    launched(supervisor, lead)
    lingering = launcher.processes["alice"]
    member = lead.roster.member("alice")
    assert member
    lead.roster.withdraw("alice", member.spawn_id)
    launched(supervisor, lead)
    supervisor.stop_all(patience_seconds=1)
    assert lingering.stopped
    assert launcher.processes["alice"].stopped


# deaths


def dies(launcher: FakeLauncher, lead: Stores, name: str = "alice") -> Member:
    """The process of the member, which had come alive, is gone."""
    member = lead.roster.member(name)
    assert member
    RosterOf(lead.team, dead()).come_alive(name, member.spawn_id)
    launcher.processes[name].exit_code = -9
    return member


@pytest.fixture
def persistent(lead: Stores, launcher: FakeLauncher) -> Supervisor:
    return Supervisor(lead, launcher, given={}, restarts=1)


def test_a_member_that_died_is_started_again_for_its_own_start_and_nobody_buries_it(
    persistent: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    launched(persistent, lead)
    dies(launcher, lead)
    persistent.look()
    member = lead.roster.member("alice")
    assert member
    assert member.comes_back
    assert [order.after for order in launcher.orders] == [None, member.incarnation]
    assert launcher.orders[1].spawn_id == launcher.orders[0].spawn_id
    Sweep(lead, ttl=lambda: 9).look()
    assert state(lead, "alice") is MemberState.ALIVE


def test_a_promise_holds_for_a_ttl_and_not_for_ever(
    persistent: Supervisor, lead: Stores, launcher: FakeLauncher, clock: OnSleep
) -> None:
    launched(persistent, lead)
    dies(launcher, lead)
    persistent.look()
    sweep = Sweep(lead, ttl=lambda: 9)
    for _ in range(8):
        sweep.look()
        clock.advance(1.5)
    assert state(lead, "alice") is MemberState.CLOSED


def test_who_died_too_often_is_not_started_again(
    persistent: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    launched(persistent, lead)
    dies(launcher, lead)
    persistent.look()
    launcher.processes["alice"].exit_code = -9
    persistent.look()
    assert len(launcher.orders) == 2
    member = lead.roster.member("alice")
    assert member
    assert not member.comes_back


def test_who_was_asked_to_leave_is_not_started_again(
    persistent: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    launched(persistent, lead)
    dies(launcher, lead)
    member = lead.roster.member("alice")
    assert member
    ask_to_stop(lead, member.bearer)
    persistent.look()
    assert len(launcher.orders) == 1


def test_who_was_asked_for_anything_else_is_started_again(
    persistent: Supervisor, lead: Stores, launcher: FakeLauncher
) -> None:
    launched(persistent, lead)
    dies(launcher, lead)
    lead.requests.ask(Kind.INTERRUPT, "alice~2", reviewer="alice~2", question="msg_00000001")
    persistent.look()
    assert len(launcher.orders) == 2
