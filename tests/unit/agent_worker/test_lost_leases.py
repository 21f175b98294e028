"""A holder whose lease is lost ends its tools and stops; one that only doubts renews and goes on."""

from __future__ import annotations

import errno
import subprocess  # noqa: TID251 - a real group that the keeper has to end
from typing import TYPE_CHECKING

import pytest

from agent_worker.lease_keeper import LeaseKeeper
from coordination.child import group_runs
from coordination.clock import SystemClock
from coordination.errors import RootLost, StateUnreadable, StateUnwritable
from coordination.liveness import Beat, has_lost_all
from coordination.team_root import Team
from tests.support.broken_mount import BrokenMount
from tests.support.people import leads
from tests.support.repository import Repository
from tests.support.teammate import TeammateUnderTest, opens_run, puts_up, team_beside_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from coordination.records import Task
    from coordination.stores import Stores
    from tests.support.clock import FakeClock

TTL = 6.0
LEASE = ("task_00000001", 5)


class Held:
    """What the log of the task says."""

    def __init__(self) -> None:
        self.answer: bool | Exception = True
        self.asked: list[tuple[str, int]] = []

    def __call__(self, task: str, token: int) -> bool:
        self.asked.append((task, token))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def mount(team: Team, clock: FakeClock) -> BrokenMount:
    return BrokenMount(team.root, clock=clock)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def keeper(team: Team, mount: BrokenMount, held: Held) -> LeaseKeeper:
    own = Team(id=team.id, directory=mount, repository=team.repository, clock=team.clock)
    made = keeper_of(own, held, TTL)
    made.holds(*LEASE)
    return made


def keeper_of(team: Team, held: Held, ttl: float) -> LeaseKeeper:
    return LeaseKeeper(
        Beat(team, "alice~2"), team.clock, ttl=lambda: ttl, progress_timeout_seconds=300, is_held=held
    )


@pytest.fixture
def group() -> Iterator[int]:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process.pid
        process.kill()


def soon(condition: Callable[[], bool]) -> bool:
    clock, deadline = SystemClock(), SystemClock().monotonic() + 30
    while not condition() and clock.monotonic() < deadline:
        clock.sleep(0.01)
    return condition()


# the keeper


def test_a_task_that_is_held_still_ends_nothing(keeper: LeaseKeeper, held: Held, group: int) -> None:
    with keeper.groups.holding(group):
        keeper._look()
        assert (keeper.is_lost, held.asked, group_runs(group)) == (False, [LEASE], True)


def test_a_task_that_is_lost_ends_the_tools_that_run_for_it(
    keeper: LeaseKeeper, held: Held, group: int
) -> None:
    held.answer = False
    with keeper.groups.holding(group):
        keeper._look()
        assert keeper.is_lost
        assert soon(lambda: not group_runs(group))


def test_a_tool_that_was_starting_when_the_task_was_lost_ends_too(
    keeper: LeaseKeeper, held: Held, group: int
) -> None:
    held.answer = False
    keeper._look()
    with keeper.groups.holding(group):
        keeper._look()
        assert soon(lambda: not group_runs(group))


def test_a_hung_loop_does_not_keep_its_keeper_from_ending_the_tools(
    team: Team, held: Held, clock: FakeClock, group: int
) -> None:
    keeper = keeper_of(team, held, 0.06)
    keeper.holds(*LEASE)
    held.answer = False
    clock.advance(1000)
    with keeper.groups.holding(group):
        keeper.start()
        assert soon(lambda: not group_runs(group))
    keeper.close()


def test_what_is_over_is_not_ended(keeper: LeaseKeeper, held: Held, group: int) -> None:
    with keeper.groups.holding(group):
        pass
    held.answer = False
    keeper._look()
    assert group_runs(group)


def test_the_next_task_is_not_lost_with_the_one_before(keeper: LeaseKeeper, held: Held) -> None:
    held.answer = False
    keeper._look()
    keeper.holds("task_00000002", 1)
    assert not keeper.is_lost


def test_a_log_that_cannot_be_read_for_a_while_loses_nothing(keeper: LeaseKeeper, held: Held) -> None:
    held.answer = StateUnreadable(path="x", cause="busy")
    keeper._look()
    assert not keeper.is_lost


@pytest.mark.parametrize("fault", [errno.ENOTCONN, errno.ESHUTDOWN, errno.EIO])
def test_a_state_directory_that_is_gone_counts_as_losing_everything(
    keeper: LeaseKeeper, mount: BrokenMount, group: int, fault: int
) -> None:
    mount.fault = fault
    with keeper.groups.holding(group):
        keeper._beat_once()
        keeper._look()
        assert keeper.is_lost
        assert soon(lambda: not group_runs(group))
    keeper.holds("task_00000002", 1)
    assert keeper.is_lost
    assert not keeper.renew()


def test_a_full_disk_is_doubt_and_no_loss(keeper: LeaseKeeper, mount: BrokenMount, clock: FakeClock) -> None:
    mount.fault = errno.ENOSPC
    clock.advance(TTL)
    assert not keeper.renew()
    assert not keeper.is_lost
    mount.fault = None
    assert keeper.renew()


def test_only_errors_of_the_mount_lose_all() -> None:
    error = StateUnwritable(path="x", cause="")
    assert not has_lost_all(error)
    assert not has_lost_all(RootLost(path="x"))
    error.__cause__ = OSError(errno.EIO, "")
    assert has_lost_all(error)


def test_a_beat_older_than_half_a_ttl_is_doubt(keeper: LeaseKeeper, clock: FakeClock) -> None:
    on_time = []
    for seconds in (TTL / 2, 0.01):
        clock.advance(seconds)
        on_time.append(keeper.is_on_time)
    assert on_time == [True, False]
    assert keeper.renew()


# the gate of the teammate


@pytest.fixture
def beside(tmp_path: Path, clock: FakeClock) -> Team:
    return team_beside_repository(tmp_path, clock)


@pytest.fixture
def lead(beside: Team) -> Stores:
    return leads(beside)


@pytest.fixture
def alice(beside: Team, lead: Stores) -> Iterator[TeammateUnderTest]:
    puts_up(lead, opens_run(lead))
    made = TeammateUnderTest(beside)
    yield made
    made.teammate.wakeup.close()


pytestmark = pytest.mark.anyio


async def after_a_long_sleep(alice: TeammateUnderTest, clock: FakeClock) -> Task:
    task = await alice.takes_next()
    clock.advance(3600)
    return task


async def test_a_holder_that_doubts_renews_and_goes_on_when_its_token_is_the_newest(
    alice: TeammateUnderTest, clock: FakeClock
) -> None:
    await after_a_long_sleep(alice, clock)
    assert not alice.teammate.keeper.is_on_time
    assert await alice.on.problem() is None
    assert alice.teammate.keeper.is_on_time


async def test_a_holder_that_wakes_too_late_is_refused_and_stops_before_its_next_model_call(
    alice: TeammateUnderTest, lead: Stores, clock: FakeClock
) -> None:
    task = await after_a_long_sleep(alice, clock)
    lead.tasks.reclaim(task.id, task.token or 0, "silent")
    reason, text = await alice.on.problem() or ("", "")
    assert (reason, "stop working on it" in text) == ("lease_broken", True)
    assert alice.teammate.keeper.is_lost


async def test_the_work_of_one_that_lost_its_lease_is_kept_aside(
    alice: TeammateUnderTest, lead: Stores, clock: FakeClock
) -> None:
    task = await after_a_long_sleep(alice, clock)
    (alice.on.cwd() / "late.txt").write_text("late", encoding="utf-8")
    lead.tasks.reclaim(task.id, task.token or 0, "silent")
    await alice.on.give_back("its lease was lost")
    branch = f"leadhand/{task.id}/{task.token}"
    assert Repository(lead.team.repository).git("show", f"{branch}:late.txt") == "late"
    assert lead.tasks.get(task.id).commit is None
