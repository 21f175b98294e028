"""What a lead sees to beside its conversation: its beat, its term, its members, and what there is to show."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from coordination.liveness import LOOKS_PER_TTL
from coordination.protocols import TermOver
from harness.tools.orders import follow_orders

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.lead.parts import LeadParts
    from orchestrator.terminal.console import Stream

LOOK_SECONDS = 0.5  # how late something is shown at most that no file event tells of


async def watch(parts: LeadParts, stream: Stream, stop: Callable[[str], None]) -> None:
    """Beat, look at the team, show what happened and ring, for ever; silent where nothing changed.

    `stop` is told why, when the person orders it. Raises TermOver, RootLost.
    """
    next_beat, has_changed = 0.0, True
    while True:
        if anyio.current_time() >= next_beat or parts.supervisor.has_news:
            next_beat, has_changed = anyio.current_time() + parts.ttl() / LOOKS_PER_TTL, True
            await parts.behind(_look, parts)
        has_changed = await parts.behind(parts.profile.look) or has_changed
        if has_changed:
            await follow_orders(
                parts.background, parts.behind, stop=stop, interrupt=parts.interrupt, compact=parts.compact
            )
        if stream.show_new() or has_changed:
            parts.pulse.ring()
        wait = partial(parts.wakeup.wait, LOOK_SECONDS)
        has_changed = await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)


def _look(parts: LeadParts) -> None:
    parts.opened.team.directory.check()
    if not parts.background.leadership.is_current(parts.opened.term):
        newest = parts.background.leadership.newest()
        raise TermOver(term=parts.opened.term, present=newest[0] if newest else 0)
    parts.sweep.count_only(if_on_time=parts.beat.beat_in_time(parts.ttl()))
    parts.supervisor.look()
    parts.sweep.look()
    parts.sweep.repair_if_due()
    parts.background.tasks.refresh_views()
