"""A signal that is not lost between looking and waiting."""

from __future__ import annotations

import anyio
import pytest

from harness.pulse import Pulse

pytestmark = pytest.mark.anyio
FOR_EVER = 3600.0


async def test_a_beat_before_the_wait_is_not_lost() -> None:
    pulse = Pulse()
    seen = pulse.count
    pulse.ring()
    with anyio.fail_after(5):
        await pulse.wait(seen, FOR_EVER)


async def test_everybody_who_waits_goes_on() -> None:
    pulse, gone_on = Pulse(), []

    async def wait(name: str) -> None:
        await pulse.wait(pulse.count, FOR_EVER)
        gone_on.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for name in ("alice", "bob"):
                group.start_soon(wait, name)
            await anyio.wait_all_tasks_blocked()
            assert gone_on == []
            pulse.ring()
    assert sorted(gone_on) == ["alice", "bob"]


async def test_a_wait_ends_with_its_time() -> None:
    pulse = Pulse()
    with anyio.fail_after(5):
        await pulse.wait(pulse.count, 0.0)


async def test_one_beat_ends_one_wait() -> None:
    pulse = Pulse()
    pulse.ring()
    with anyio.move_on_after(0.01) as scope:
        await pulse.wait(pulse.count, FOR_EVER)
    assert scope.cancelled_caught
