"""A model that is not asked any more once a limit is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from harness.models.limits import LimitReached, Limits, Spent, reached, shown
from harness.models.model import Around
from harness.off_loop import OffLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.models.ledger import Ledger
    from harness.models.model import Model, ModelRequest, Reply


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Something that has limits of its own."""

    kind: str  # task, member, team
    limits: Limits
    name: Callable[[], str]  # whose use counts; empty for the team, or while there is none
    minutes: Callable[[], float]  # since it began


class LimitedModel(Around):
    """Looks at the use of task, member and team before each call; overshoots by the one call that runs.

    Calls run side by side only while all of them together, each like the largest so far, stay within.
    """

    def __init__(
        self, model: Model, ledger: Ledger, scopes: list[Scope], *, noting: Callable[[], None]
    ) -> None:
        """`ledger` leaves the calls of this model to be told; `noting` is called around each."""
        super().__init__(model)
        self._noting = noting
        self._off_loop = OffLoop()  # for the ledger
        self.change(ledger, scopes)
        self._running = 0
        self._ended = anyio.Event()  # one of those
        self._largest = Spent()

    def change(self, ledger: Ledger, scopes: list[Scope]) -> None:
        """From the next call on these limits hold."""
        self._ledger = ledger
        self._all = scopes
        self._scopes = [scope for scope in scopes if not scope.limits.are_none]

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`. Raises LimitReached instead of asking."""
        if not self._scopes:
            return await self._model.reply(request, on_text)
        self._noting()
        await self._wait_for_room()
        self._running += 1
        try:
            reply = await self._model.reply(request, on_text)
            self._count(reply)
            self._noting()
        finally:
            self._running -= 1
            self._ended.set()
            self._ended = anyio.Event()
        return reply

    async def _wait_for_room(self) -> None:
        while True:
            await self._off_loop(self._ledger.refresh)
            for scope in self._scopes:
                if what := reached(self._spent(scope), scope.limits):
                    raise LimitReached(scope=scope.kind, what=what)
            if not any(reached(self._expected(scope), scope.limits) for scope in self._scopes):
                return
            await self._ended.wait()

    def _expected(self, scope: Scope) -> Spent:
        """What will be used once the running calls have ended."""
        spent, running, largest = self._spent(scope), self._running, self._largest
        return Spent(
            turns=spent.turns + running,
            tokens=spent.tokens + running * largest.tokens,
            usd=spent.usd + running * largest.usd,
            minutes=spent.minutes,
        )

    def _count(self, reply: Reply) -> None:
        cost = self._ledger.count(
            reply.model, reply.usage, [(scope.kind, scope.name()) for scope in self._all]
        )
        self._largest = Spent(
            tokens=max(self._largest.tokens, reply.usage.tokens), usd=max(self._largest.usd, cost)
        )

    @property
    def budget(self) -> list[str]:
        """What is used of the limits, a line for each scope that has any."""
        return [f"{scope.kind}: {shown(self._spent(scope), scope.limits)}" for scope in self._scopes]

    def _spent(self, scope: Scope) -> Spent:
        return self._ledger.spent(scope.kind, scope.name(), minutes=scope.minutes())
