"""Pure: whether a skill and what is asked of it fit the budget beside what is active; all or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the conversation would hold of skills, in tokens, against what it may hold."""

    catalog: int
    active: int  # bodies and resources that it holds already
    body: int  # of the skill that is asked for; 0 when it is active
    resources: int  # that are asked for
    budget: int

    @property
    def total(self) -> int:
        return self.catalog + self.active + self.body + self.resources

    @property
    def is_accepted(self) -> bool:
        return self.total <= self.budget

    def __str__(self) -> str:
        return (
            f"catalog {self.catalog} + active {self.active} + body {self.body} + resources {self.resources} "
            f"= {self.total} tokens, {self.budget} are allowed"
        )


def plan_load(
    *, catalog: int, active: Mapping[str, int], name: str, body: int, resources: int, budget: int
) -> Plan:
    """The plan of one call; a body that is active already costs nothing again."""
    return Plan(
        catalog=catalog,
        active=sum(active.values()),
        body=0 if name in active else body,
        resources=resources,
        budget=budget,
    )
