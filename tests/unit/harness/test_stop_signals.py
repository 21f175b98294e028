"""Signals that end a process: who heeds them, and who does not."""

from __future__ import annotations

import os
import signal
import subprocess  # noqa: TID251 - a real child inherits

import anyio
import pytest

from harness.stop_signals import STOPPING, ignore_stop_signals, unless_ignored, until_stopped

ENDS_ITSELF = "kill -{} $$; echo lived"


def told_to_end(number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """A program that sends itself this signal."""
    command = ENDS_ITSELF.format(int(number))
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", STOPPING)
def test_a_program_that_the_process_becomes_is_not_ended_by_them(number: signal.Signals) -> None:
    ignore_stop_signals()
    assert told_to_end(number).stdout == "lived\n"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("before", "heard"),
    [(signal.SIG_DFL, [signal.SIGHUP, signal.SIGTERM]), (signal.SIG_IGN, [signal.SIGTERM])],
    ids=["as any", "under nohup"],
)
async def test_a_hang_up_is_heard_unless_the_starter_ignored_it(
    before: signal.Handlers, heard: list[signal.Signals]
) -> None:
    signal.signal(signal.SIGHUP, before)
    told: list[signal.Signals] = []
    arrived = {number: anyio.Event() for number in heard}

    def heed(number: signal.Signals) -> None:
        told.append(number)
        arrived[number].set()

    async def work() -> None:
        for number in (signal.SIGHUP, signal.SIGTERM):
            os.kill(os.getpid(), number)
            with anyio.fail_after(10):
                if number in arrived:
                    await arrived[number].wait()

    await until_stopped(work, heed, unless_ignored())
    assert told == heard
