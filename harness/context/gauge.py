"""How full the model's window is: measured by the last reply, estimated from there on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.context.settings import ContextSettings

if TYPE_CHECKING:
    from coordination.usage import Usage
    from harness.models.model import Capacity

UNKNOWN_WINDOW_TOKENS = 200_000  # where neither the person nor the server says more
CHARACTERS_PER_TOKEN = 4.0  # the usual rule of thumb, until something was measured
FEWEST_PER_TOKEN, MOST_PER_TOKEN = 2.0, 6.0  # what a measurement may move it to


@dataclass(frozen=True, kw_only=True)
class ContextLimits(ContextSettings):
    """When a history is made shorter, and by how much; shares are of the window."""

    reply_tokens: int = 8000  # room that the reply needs
    worthwhile_percent: int = 5  # freeing less is not worth a cold cache
    preview_characters: int = 2000
    kept_image_bytes: int = 20_000_000  # a server takes 32 MB in all
    request_characters: int = 20_000
    summarized_characters: int = 80_000

    @property
    def room(self) -> int:
        """Tokens for the request."""
        return (self.window_tokens or UNKNOWN_WINDOW_TOKENS) - self.reply_tokens

    def fitting(self, capacity: Capacity) -> ContextLimits:
        """The same for a model that takes so much: three quarters of its window are left for the request.

        The person knows better than the server how large the window is.
        """
        window = self.window_tokens or capacity.window_tokens or UNKNOWN_WINDOW_TOKENS
        reply = min(self.reply_tokens, capacity.reply_tokens or window, window // 4)
        return replace(
            self, window_tokens=window, reply_tokens=reply, summary_tokens=min(self.summary_tokens, reply)
        )

    def share(self, percent: int) -> int:
        """Tokens that so many percent of the room are."""
        return self.room * percent // 100


class Gauge:
    """Tokens of the next request, from its characters and what replies reported."""

    def __init__(self) -> None:
        self._tokens: int | None = None
        self._characters = 0
        self._per_token = CHARACTERS_PER_TOKEN

    @property
    def is_measured(self) -> bool:
        return self._tokens is not None

    def measure(self, tokens: int, characters: int) -> None:
        """So many characters were so many tokens."""
        self._tokens, self._characters = tokens, characters
        if tokens > 0:
            self._per_token = min(MOST_PER_TOKEN, max(FEWEST_PER_TOKEN, characters / tokens))

    def forget(self) -> None:
        """The history is another one; only what a token weighs is still known."""
        self._tokens = None

    def tokens(self, characters: int) -> int:
        """What so many characters will be."""
        if self._tokens is None:
            return int(characters / self._per_token)
        return max(0, self._tokens + int((characters - self._characters) / self._per_token))

    def characters(self, tokens: int) -> int:
        """How many characters so many tokens are."""
        return int(tokens * self._per_token)


def sent_tokens(usage: Usage) -> int:
    """Everything that was in the window when the reply began."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
