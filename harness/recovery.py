"""Which failure of a model call is tried again, after how long, and how often."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from harness.model import ImproperEnd, Model, ModelBusy, ModelRequest, ModelUnreachable, NoReply, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 32.0
LONGEST_OBEYED_SECONDS = 120.0  # a server may ask for hours; well below the time-out of a silent member
JITTER = 0.25  # so that members who failed together do not come back together


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Try again after so many seconds."""

    after_seconds: float


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """Trying again would not help."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A failed attempt that will be repeated: what is reported meanwhile."""

    error: NoReply
    attempt: int  # the one that failed, from 1
    seconds: float


def classify(error: NoReply, *, attempt: int, jitter: float = 0.0) -> Retry | GiveUp:
    """What to do after attempt number `attempt` (from 1) failed; `jitter` is a number from 0 to 1."""
    if attempt >= ATTEMPTS or not isinstance(error, ModelBusy | ModelUnreachable | ImproperEnd):
        return GiveUp()
    asked = error.retry_after_seconds if isinstance(error, ModelBusy) else None
    if asked is not None:
        return Retry(after_seconds=asked) if asked <= LONGEST_OBEYED_SECONDS else GiveUp()
    backoff = min(FIRST_WAIT_SECONDS * 2 ** (attempt - 1), LONGEST_WAIT_SECONDS)
    return Retry(after_seconds=backoff * (1 + JITTER * jitter))


class RecoveringModel:
    """A model whose passing failures are waited out; what it raises is final."""

    def __init__(
        self,
        model: Model,
        *,
        on_wait: Callable[[Waiting], None] = lambda _: None,
        before_call: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`before_call` is asked before each attempt; what it raises is not waited out."""
        self._model = model
        self._before_call = before_call
        self._on_wait = on_wait
        self._sleep = sleep
        self._jitter = jitter

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`; a reply cut by `max_tokens` is asked for once more with twice the room."""
        reply = await self._insist(request, on_text)
        if reply.stop_reason != "max_tokens":
            return reply
        longer = await self._insist(replace(request, max_tokens=2 * request.max_tokens), on_text)
        return replace(longer, usage=reply.usage + longer.usage)

    async def count(self, request: ModelRequest) -> int | None:
        """As `Model.count`, in one attempt."""
        return await self._model.count(request)

    async def close(self) -> None:
        await self._model.close()

    async def _insist(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        attempt = 0
        while True:
            attempt += 1
            await self._before_call()
            try:
                return await self._model.reply(request, on_text)
            except NoReply as error:
                step = classify(error, attempt=attempt, jitter=self._jitter())
                if isinstance(step, GiveUp):
                    raise
                self._on_wait(Waiting(error=error, attempt=attempt, seconds=step.after_seconds))
            on_text("")  # a wait with a deadline is a sign of life
            await self._sleep(step.after_seconds)
