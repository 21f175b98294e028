"""`approvals --follow`: a process of its own that shows the questions of a team."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from coordination import layout
from coordination.wakeup import Wakeup
from harness.off_loop import OffLoop
from harness.pulse import Pulse
from harness.stop_signals import unless_ignored, until_stopped
from orchestrator.lead.outcome import ExitCode, after_signal
from orchestrator.terminal.approvals import Approvals
from orchestrator.terminal.at_terminal import LOOK_SECONDS, AtTerminal
from orchestrator.terminal.confirmation import StartQuestion, waits_there
from orchestrator.terminal.console import Console

if TYPE_CHECKING:
    import signal

    from coordination.stores import Stores


async def follow_questions(stores: Stores, as_json: bool, asks: bool) -> int:  # noqa: FBT001 - for `anyio.run`
    """Every question is shown as it comes, until the person ends it; the exit code."""
    pulse, wakeup = Pulse(), Wakeup(stores.team, [layout.REQUESTS])
    console, off_loop = Console(as_json=as_json), OffLoop()
    at_terminal = AtTerminal(
        stores.team, Approvals(stores), console, pulse=pulse, off_loop=off_loop, asks=asks
    )
    stopped_by: list[signal.Signals] = []

    def heed(number: signal.Signals) -> None:
        stopped_by.append(number)
        scope.cancel()

    async def show() -> None:
        with scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_ring, wakeup, pulse)
                group.start_soon(_tell_start, StartQuestion(stores), console, pulse, off_loop)
                await at_terminal.run()
                group.cancel_scope.cancel()

    scope = anyio.CancelScope()
    try:
        await until_stopped(show, heed, unless_ignored())
    finally:
        wakeup.close()
    return int(after_signal(ExitCode.DONE, stopped_by[0] if stopped_by else None))


async def _tell_start(question: StartQuestion, console: Console, pulse: Pulse, off_loop: OffLoop) -> None:
    """The lead's question whether to start a team, which only its own terminal can answer, is shown once."""
    shown: int | None = None
    while True:
        seen = pulse.count
        members = await off_loop(question.members)
        if members and members != shown:
            console.say(waits_there(members))
        shown = members
        await pulse.wait(seen, LOOK_SECONDS)


async def _ring(wakeup: Wakeup, pulse: Pulse) -> None:
    while True:
        await anyio.to_thread.run_sync(wakeup.wait, LOOK_SECONDS, abandon_on_cancel=True)
        pulse.ring()
