"""What the model calls of all members used, as their events tell it, on every host."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from coordination.events import EventTail
from coordination.usage import Usage
from harness.models.limits import Spent
from harness.models.prices import Money

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from coordination.files import StateDirectory
    from harness.models.prices import PriceTable


WORKED = "worked"  # the event that tells of time that was spent on a task


def used_on(directory: StateDirectory, task: str, processes: Collection[str]) -> Usage:
    """What these processes used of their models for the task, as their events tell it."""
    total = Usage()
    for event in EventTail(directory).read_new():
        of_task = (event.get("action"), event.get("task")) == ("model_call", task)
        if of_task and event.get("who") in processes:
            with suppress(msgspec.ValidationError):  # an event of another version, or written by hand
                total += msgspec.convert(event.get("usage"), Usage)
    return total


class Ledger:
    """The sum of the calls for a run, by member, by task and in all; reads only what is new."""

    def __init__(self, directory: StateDirectory, prices: PriceTable, *, run: str, own: str = "") -> None:
        """The calls of the process `own` are not read: it counts them itself, as soon as they end."""
        self._own = own
        self._tail = EventTail(directory)
        self._prices = prices
        self._run = run
        self.usage: dict[tuple[str, str], Usage] = defaultdict(Usage)  # by scope and name
        self._seconds: dict[tuple[str, str], dict[str, float]] = {}  # by scope and name, of each process
        self.usd: dict[tuple[str, str], float] = defaultdict(float)
        self.models: dict[str, set[str]] = defaultdict(set)  # by member
        self.unpriced: set[str] = set()  # models whose money is not counted
        self._partly: set[tuple[str, str]] = set()  # by scope and name, where some of it is such a model's

    def leave_out(self, own: str) -> None:
        """From now on the calls of this process are not read, but told."""
        self._own = own

    def refresh(self) -> None:
        """What has come meanwhile is counted."""
        for event in filter(self._is_read, self._tail.read_new()):
            with suppress(msgspec.ValidationError):  # an event of another version, or written by hand
                if event["action"] == WORKED:
                    self._add_time(event, msgspec.convert(event.get("seconds"), float))
                else:
                    self._read(event, msgspec.convert(event.get("usage"), Usage))

    def spent(self, scope: str, name: str, *, minutes: float = 0.0) -> Spent:
        """What a task, a member (by its name) or the team (with no name) has used.

        `minutes` are those that the own process spent.
        """
        used, seconds = self.usage[scope, name], self._seconds.get((scope, name), {})
        others = sum(of for who, of in seconds.items() if who != self._own)
        minutes += others / 60
        return Spent(turns=used.calls, tokens=used.tokens, usd=self.usd[scope, name], minutes=minutes)

    def money(self, scope: str, name: str) -> Money:
        """What it comes to by the price table."""
        usd, is_partial = self.usd[scope, name], (scope, name) in self._partly
        return Money(usd=None if is_partial and not usd else round(usd, 6), is_partial=is_partial)

    def names(self, scope: str) -> list[str]:
        """Whose use is known, in the order of their first calls."""
        return [name for of, name in self.usage if of == scope]

    def count(self, model: str, usage: Usage, scopes: Iterable[tuple[str, str]]) -> float:
        """The use is added to these scopes, by kind and name; returns its price in USD, 0 if unknown."""
        cost = self._prices.cost(model, usage)
        if cost is None:
            self.unpriced.add(model)
        for key in scopes:
            self.usage[key] += usage
            if cost is None:
                self._partly.add(key)
            self.usd[key] += cost or 0.0
        return cost or 0.0

    def _is_read(self, event: dict[str, Any]) -> bool:
        is_own = bool(self._own) and event.get("who") == self._own
        is_use = event.get("action") in {"model_call", WORKED}
        return is_use and event.get("run") == self._run and not is_own

    def _add_time(self, event: dict[str, Any], seconds: float) -> None:
        who, task = str(event.get("who", "")), str(event.get("task") or "")
        for scope in (("member", who.partition("~")[0]), ("task", task)):
            of_scope = self._seconds.setdefault(scope, {})
            of_scope[who] = of_scope.get(who, 0.0) + seconds

    def _read(self, event: dict[str, Any], usage: Usage) -> None:
        member, model = str(event.get("who", "")).partition("~")[0], str(event.get("model", ""))
        self.models[member].add(model)
        self.count(model, usage, (("member", member), ("task", str(event.get("task") or "")), ("team", "")))
