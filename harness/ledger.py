"""What the model calls of all members used, as their events tell it, on every host."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from coordination.events import EventTail
from coordination.usage import Usage
from harness.limits import Spent

if TYPE_CHECKING:
    from coordination.files import StateDirectory
    from harness.prices import PriceTable


class Ledger:
    """The sum of the calls for a run, by member, by task and in all; reads only what is new."""

    def __init__(self, directory: StateDirectory, prices: PriceTable, *, run: str) -> None:
        self._tail = EventTail(directory)
        self._prices = prices
        self._run = run
        self.usage: dict[tuple[str, str], Usage] = defaultdict(Usage)  # by scope and name
        self.usd: dict[tuple[str, str], float] = defaultdict(float)
        self.models: dict[str, set[str]] = defaultdict(set)  # by member
        self.unpriced: set[str] = set()  # models whose money is not counted

    def refresh(self) -> None:
        """What has come meanwhile is counted."""
        for event in self._tail.read_new():
            if event.get("action") == "model_call" and event.get("run") == self._run:
                with suppress(msgspec.ValidationError):  # an event of another version, or written by hand
                    self._count(event, msgspec.convert(event.get("usage"), Usage))

    def spent(self, scope: str, name: str, *, minutes: float = 0.0) -> Spent:
        """What a task, a member (by its name) or the team (with no name) has used."""
        used = self.usage[scope, name]
        tokens = used.input_tokens + used.output_tokens + used.cache_read_tokens + used.cache_write_tokens
        return Spent(turns=used.calls, tokens=tokens, usd=self.usd[scope, name], minutes=minutes)

    def names(self, scope: str) -> list[str]:
        """Whose use is known, in the order of their first calls."""
        return [name for of, name in self.usage if of == scope]

    def _count(self, event: dict[str, Any], usage: Usage) -> None:
        member, model = str(event.get("who", "")).partition("~")[0], str(event.get("model", ""))
        cost = self._prices.cost(model, usage)
        if cost is None:
            self.unpriced.add(model)
        self.models[member].add(model)
        for key in (("member", member), ("task", str(event.get("task") or "")), ("team", "")):
            self.usage[key] += usage
            self.usd[key] += cost or 0.0
