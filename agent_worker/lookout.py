"""What a teammate notices beside its work: requests to stop, the lead's life, lost members."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from coordination import layout
from coordination.joining import ProfileWatch
from coordination.liveness import LOOKS_PER_TTL, BeatWatch, read_beat
from coordination.process import known_dead

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agent_worker.lease_keeper import LeaseKeeper
    from agent_worker.shutdown import Shutdown
    from coordination.profile import Ttl
    from coordination.stores import Stores
    from coordination.sweep import Sweep
    from coordination.wakeup import Wakeup
    from harness.off_loop import OffLoop
    from harness.pulse import Pulse

ORPHAN_GRACE_SECONDS = 900.0  # DESIGN 12: runs only without a task
LOOKS_PER_REST = 4  # of an idle worker, which nothing has told to look itself


class Lookout:
    """Looks at the team each time something changed there, and every TTL/6 at least.

    The worker is rung for when there may be something for it to do, and now and then in any case.
    """

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        stores: Stores,
        pulse: Pulse,
        *,
        wakeup: Wakeup,
        off_loop: OffLoop,
        shutdown: Shutdown,
        sweep: Sweep,
        keeper: LeaseKeeper,
        follow: Callable[[], Awaitable[None]],
        ttl: Ttl,
    ) -> None:
        self.shutdown = shutdown
        self._ttl = ttl
        self._profile = ProfileWatch(stores.team)
        self._lead_lives = False
        self._met_lead = False
        self._stores = stores
        self._pulse = pulse
        self._wakeup = wakeup
        self._off_loop = off_loop
        self._sweep = sweep
        self._keeper = keeper
        self._follow = follow  # orders of the person or the lead
        self._lead_watch = BeatWatch(stores.team.clock, ttl)
        self._alone = 0.0  # seconds without a lead, counted in looks: a suspended machine is not alone
        self._looked = stores.team.clock.monotonic()

    @property
    def interval(self) -> float:
        """Seconds between two looks, if nothing changes."""
        return self._ttl() / LOOKS_PER_TTL

    @property
    def rest(self) -> float:
        """Seconds until an idle worker looks itself, if nothing tells it to."""
        return LOOKS_PER_REST * self.interval

    async def keep_looking(self) -> None:
        """Look, ring, wait, for ever; the stores are its own, since the work goes on meanwhile.

        Raises Superseded, RootLost.
        """
        has_changed, quiet = True, 0
        while True:
            before = self._lead_lives, self.shutdown.asked
            await self._off_loop(self._look)
            await self._follow()
            has_changed = has_changed or before != (self._lead_lives, self.shutdown.asked)
            if has_changed or quiet >= LOOKS_PER_REST:
                self._pulse.ring()
                quiet = 0
            quiet += 1
            wait = partial(self._wakeup.wait, self.interval)
            has_changed = await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    async def sees_lead(self) -> bool:
        """True while a lead lives, as it looks at this moment: without one nothing new is claimed."""
        await self._off_loop(self._look_at_lead)
        return self._lead_lives

    async def until_on(self) -> None:
        """Return once the team does not rest, or the process has to stop."""
        seen = self._pulse.count
        while await self._off_loop(self._stores.pauses.is_on) and not self.is_over(has_task=True):
            self._keeper.checkpoint()
            await self._pulse.wait(seen, self.interval)
            seen = self._pulse.count

    def is_over(self, *, has_task: bool) -> bool:
        """True when the process should end: asked to, or alone for too long with nothing to do."""
        if self.shutdown.asked or has_task:
            return self.shutdown.asked
        if self._alone > ORPHAN_GRACE_SECONDS:
            self.shutdown.ask(f"no lead for {self._alone:.0f} s")
        return self.shutdown.asked

    def _look(self) -> None:
        bearer = layout.split_bearer(self._stores.actor)
        assert bearer
        self._stores.team.directory.check()
        self._profile.look()
        self._stores.roster.check_newest(*bearer)
        for watch in (self._sweep, self._lead_watch):
            watch.count_only(if_on_time=self._keeper.is_on_time)
        self._look_at_lead()
        self._sweep.look()
        if not self._lead_lives:  # which puts the board in order for all
            self._sweep.repair_if_due()

    def _look_at_lead(self) -> None:
        now = self._stores.team.clock.monotonic()
        self._alone += min(now - self._looked, self.interval)
        self._looked = now
        newest = self._stores.leadership.newest()
        self._lead_lives = False
        if newest is None:
            return
        term, lead = newest
        if lead.ended:
            if self._met_lead:
                self.shutdown.ask("the lead has ended")
            return
        who = layout.bearer("lead", term)
        self._lead_watch.look(who, read_beat(self._stores.team, who))
        self._lead_lives = not (known_dead(lead.process) or self._lead_watch.silent(who))
        if self._lead_lives:
            self._met_lead = True
            self._alone = 0.0
