"""A model that is not asked any more once a limit is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread

from harness.limits import LimitReached, Limits, reached

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.ledger import Ledger
    from harness.limits import Spent
    from harness.model import Model, ModelRequest, Reply


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Something that has limits of its own."""

    kind: str  # task, member, team
    limits: Limits
    name: Callable[[], str]  # whose use counts; empty for the team, or while there is none
    minutes: Callable[[], float]  # since it began


class LimitedModel:
    """Looks at the use of task, member and team before each call; overshoots by the one call that runs."""

    def __init__(self, model: Model, ledger: Ledger, scopes: list[Scope]) -> None:
        self._model = model
        self._ledger = ledger
        self._scopes = [scope for scope in scopes if not scope.limits.are_none]

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`. Raises LimitReached instead of asking."""
        if self._scopes:
            await to_thread.run_sync(self._ledger.refresh)
        for scope in self._scopes:
            if what := reached(self._spent(scope), scope.limits):
                raise LimitReached(scope=scope.kind, what=what)
        return await self._model.reply(request, on_text)

    async def count(self, request: ModelRequest) -> int | None:
        """As the model behind counts."""
        return await self._model.count(request)

    async def close(self) -> None:
        """The model behind is closed."""
        await self._model.close()

    def _spent(self, scope: Scope) -> Spent:
        return self._ledger.spent(scope.kind, scope.name(), minutes=scope.minutes())
