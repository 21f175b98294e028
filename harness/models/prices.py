"""What models cost: a price table as a person writes it, and the money that usage comes to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordination.usage import Usage

PER_TOKENS = 1_000_000
CACHE_READ_SHARE, CACHE_WRITE_SHARE = 0.1, 1.25  # of the price of input, where a line gives two numbers
FORM = "MODEL INPUT OUTPUT [CACHE_READ CACHE_WRITE], in USD per million tokens"


class BadPrice(ValueError):
    """A line of the table is not as `FORM` says."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        """USD for the usage."""
        spent = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        )
        return spent / PER_TOKENS


@dataclass(frozen=True, kw_only=True)
class Money:
    """What something comes to, for a person as text."""

    usd: float | None  # None where no price of it is known
    is_partial: bool = False  # some of it is of a model whose price nobody wrote down

    def __str__(self) -> str:
        if self.usd is None:
            return "unknown"
        return f"over {self.usd:.4f}" if self.is_partial else f"{self.usd:.4f}"


def parse_price(line: str) -> tuple[str, Price]:
    """A line of the table as `FORM` says it. Raises BadPrice."""
    name, _, rest = line.partition(" ")
    try:
        prices = [float(number) for number in rest.split()]
    except ValueError as error:
        raise BadPrice(line) from error
    if not name or len(prices) not in {2, 4} or any(not 0 <= price < math.inf for price in prices):
        raise BadPrice(line)
    if len(prices) == 2:
        prices += [prices[0] * CACHE_READ_SHARE, prices[0] * CACHE_WRITE_SHARE]
    return name, Price(input=prices[0], output=prices[1], cache_read=prices[2], cache_write=prices[3])


class PriceTable:
    """The prices of the models that somebody wrote down; models go by the longest name they begin with."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Raises BadPrice."""
        self._prices = dict(parse_price(line) for line in lines)

    def price(self, model: str) -> Price | None:
        """What the model costs; None when nobody wrote it down."""
        fitting = [name for name in self._prices if model.startswith(name)]
        return self._prices[max(fitting, key=len)] if fitting else None

    def cost(self, model: str, usage: Usage) -> float | None:
        """USD for usage of the model; None where its price is unknown."""
        price = self.price(model)
        return price.of(usage) if price else None
