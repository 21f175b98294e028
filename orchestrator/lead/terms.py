"""The team as it is proposed, and what the person changes of it: models of its members, prices, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from harness.settings.settings import changed
from orchestrator.money import SCOPES, PriceUnknown, priced, with_limits
from orchestrator.proposal import Proposal
from workspace.sandbox.choice import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.records import Member, Task
    from orchestrator.lead.parts import LeadParts

NO_LIMIT = "none"


@dataclass(eq=False)
class NoSuchChange(TeamError):
    """The line is no change of a team."""

    line: str
    says = (
        "{line!r} is no answer; a change is `model [NAME] MODEL`, `price MODEL INPUT OUTPUT` (in USD per "
        "million tokens), or `limit SCOPE.max_WHAT VALUE`, as in `limit team.max_usd 3` or `limit "
        "task.max_turns none`"
    )


@dataclass(eq=False)
class PriceFirst(TeamError):
    """A limit in money would hold for a model whose price nobody said."""

    model: str
    says = (
        "a limit in USD needs the price of {model}; say `price {model} INPUT OUTPUT` (in USD per million "
        "tokens) before"
    )


def propose(parts: LeadParts, tasks: Sequence[Task], members: Sequence[Member]) -> Proposal:
    """What the person is asked to agree to."""
    run, settings = parts.opened.run, parts.settings
    return Proposal(
        run=run,
        tasks=tasks,
        members=members,
        every_task=settings.every_task_checks,
        max_workers=settings.max_workers,
        sandbox=in_words(settings.sandbox, settings.sandbox_network),
        repository=str(parts.opened.team.repository),
        roles=parts.catalogs.roles,
        limits={scope: settings.limits(scope) for scope in SCOPES},
        prices=priced(settings, [run.model, *(member.model or "" for member in members)]),
        unseen_edits=parts.opened.git.uncommitted(),
    )


class Terms:
    """Changes are in force at once, for the lead and for members that start from now on."""

    def __init__(self, parts: LeadParts) -> None:
        self._parts = parts

    async def __call__(self, line: str) -> Sequence[Member]:
        """The line holds; the members that wait, as they are then. Raises TeamError with nothing changed."""
        try:
            return await self._parts.behind(self._change, line)
        except PriceUnknown as error:
            raise PriceFirst(model=error.model) from error

    def _change(self, line: str) -> Sequence[Member]:
        match line.split():
            case ["model", model]:
                self._give_model(model, None)
            case ["model", name, model]:
                self._give_model(model, name)
            case ["price", model, *_]:
                others = [price for price in self._parts.settings.prices if price.partition(" ")[0] != model]
                self._set("prices", [*others, " ".join(line.split()[1:])])
            case ["limit", name, value]:
                self._set(f"limits.{name}", None if value.lower() == NO_LIMIT else value)
            case _:
                raise NoSuchChange(line=line)
        return self._parts.host.still_waiting()

    def _give_model(self, model: str, name: str | None) -> None:
        with_limits(self._parts.settings, [model])
        self._parts.host.give_model(model, name)

    def _set(self, name: str, value: object) -> None:
        models = [member.model for member in self._parts.host.waiting if member.model]
        self._parts.change(with_limits(changed(self._parts.settings, name, value), models))
        runs, run = self._parts.background.runs, self._parts.opened.run.id
        others = {of: agreed for of, agreed in runs.get(run).agreed.items() if of != name}
        runs.update(run, agreed=others if value is None else {**others, name: value})
