"""Blocking work in a thread, one piece at a time."""

from __future__ import annotations

import threading

import anyio
import anyio.from_thread
import pytest

from harness.off_loop import OffLoop

pytestmark = pytest.mark.anyio


def fail() -> None:
    raise KeyError("odd")


async def test_the_work_runs_in_another_thread_and_returns_what_it_found() -> None:
    assert await OffLoop()(threading.get_ident) != threading.get_ident()
    assert await OffLoop()(sorted, [2, 1], reverse=True) == [2, 1]


async def test_what_the_work_raises_reaches_the_caller_and_the_next_piece_runs() -> None:
    off_loop = OffLoop()
    with pytest.raises(KeyError, match="odd"):
        await off_loop(fail)
    assert await off_loop(len, "four") == 4


async def test_two_pieces_never_run_at_once() -> None:
    off_loop, running, most = OffLoop(), 0, 0
    gate = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with gate:
            running += 1
            most = max(most, running)
        anyio.from_thread.run(anyio.lowlevel.checkpoint)  # the loop may start the next one here
        with gate:
            running -= 1

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(off_loop, work)
    assert most == 1


async def test_a_cancelled_caller_waits_for_its_work_to_end() -> None:
    off_loop, began, may_end, ended = OffLoop(), threading.Event(), threading.Event(), []

    def work() -> None:
        began.set()
        may_end.wait(5)
        ended.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(off_loop, work)
        await anyio.to_thread.run_sync(began.wait, 5)
        group.cancel_scope.cancel()
        may_end.set()
    assert ended == [True]
