"""Which failure of a model call is tried again, after how long, how often, and with which model."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from harness.models.fallback import ModelChoice
from harness.models.model import Around, ImproperEnd, ModelBusy, ModelUnreachable, NoReply
from harness.off_loop import OffLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from harness.models.model import Model, ModelRequest, Reply
    from harness.models.throttle import Throttle

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


def classify(error: NoReply, *, attempt: int, failures: int = 0, jitter: float = 0.0) -> Retry | GiveUp:
    """What to do after attempt number `attempt` (from 1) failed; `jitter` is a number from 0 to 1.

    The wait grows with `failures`, which are those of all models that were asked (at least `attempt`).
    """
    if attempt >= ATTEMPTS or not isinstance(error, ModelBusy | ModelUnreachable | ImproperEnd):
        return GiveUp()
    asked = error.retry_after_seconds if isinstance(error, ModelBusy) else None
    if asked is not None:
        return Retry(after_seconds=asked) if asked <= LONGEST_OBEYED_SECONDS else GiveUp()
    backoff = min(FIRST_WAIT_SECONDS * 2 ** (max(attempt, failures) - 1), LONGEST_WAIT_SECONDS)
    return Retry(after_seconds=backoff * (1 + JITTER * jitter))


class RecoveringModel(Around):
    """A model whose passing failures are waited out; what it raises is final."""

    def __init__(  # noqa: PLR0913 - each is one choice of the one who puts the model together
        self,
        model: Model,
        *,
        fallback: str | None = None,
        throttle: Throttle | None = None,
        on_wait: Callable[[Waiting], None] = lambda _: None,
        before_call: Callable[[], object] = lambda: None,
        off_loop: OffLoop | None = None,
        on_model: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        jitter: Callable[[], float] = random.random,
        now: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`before_call` is asked before each attempt, through `off_loop`; what it raises is not waited out.

        `on_model` is told when another model answers than before.
        """
        super().__init__(model)
        self._before_call = before_call
        self._off_loop = off_loop or OffLoop()
        self._on_model = on_model
        self._effective = ""  # the model that answered last
        self._choice = ModelChoice(fallback, now)
        self._throttle = throttle
        self._on_wait = on_wait
        self._sleep = sleep
        self._jitter = jitter

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """As `Model.reply`; a reply cut by `max_tokens` is asked for once more with twice the room."""
        reply = await self._insist(request, on_text)
        if reply.stop_reason != "max_tokens":
            return reply
        tokens = await self._at_most(2 * request.max_tokens, self._choice.of(request.model))
        if tokens <= request.max_tokens:
            return reply
        try:
            longer = await self._insist(replace(request, max_tokens=tokens), on_text)
        except NoReply:  # what came counts, and can be gone on from
            return reply
        return replace(longer, usage=reply.usage + longer.usage)

    async def _at_most(self, tokens: int, model: str) -> int:
        """So many tokens of a reply, or as many as the model gives."""
        return min(tokens, (await self._model.capacity(model)).reply_tokens or tokens)

    async def _for_model_of_now(self, request: ModelRequest) -> ModelRequest:
        model = self._choice.of(request.model)
        if model == request.model:
            return request
        return replace(request, model=model, max_tokens=await self._at_most(request.max_tokens, model))

    async def _insist(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        attempt = failures = 0
        while True:
            attempt, failures = attempt + 1, failures + 1
            await self._wait_with_others(on_text)
            try:
                asked = await self._for_model_of_now(request)
                reply = await self._model.reply(asked, on_text)
            except NoReply as error:
                attempt = await self._wait_or_raise(error, attempt, failures)
                on_text(
                    "\n"
                )  # a wait is a sign of life, and no new reply goes on with half a line of this one
            else:
                self._answered_by(asked.model, first=request.model)
                return reply

    def _answered_by(self, model: str, *, first: str) -> None:
        self._choice.answered()
        if model != (self._effective or first):
            self._on_model(model)
        self._effective = model

    async def _wait_or_raise(self, error: NoReply, attempt: int, failures: int) -> int:
        """The wait is over; the number of attempts that count against the model to be asked next."""
        is_switched = self._choice.failed(error)
        counted = 0 if is_switched else attempt
        step = classify(error, attempt=max(1, counted), failures=failures, jitter=self._jitter())
        if isinstance(step, GiveUp):
            raise error
        seconds = step.after_seconds
        self._on_wait(Waiting(error=error, attempt=attempt, seconds=seconds))
        if self._throttle and isinstance(error, ModelBusy):
            await self._off_loop(self._throttle.tell, seconds)
        await self._sleep(seconds)
        return counted

    async def _wait_with_others(self, on_text: Callable[[str], None]) -> None:
        """What another member was told to wait since the last call is over, and this process may call."""
        seconds = await self._off_loop(self._look)
        if seconds > 0:
            on_text("")
            await self._sleep(min(seconds, LONGEST_OBEYED_SECONDS) * (1 + JITTER * self._jitter()))
            await self._off_loop(self._before_call)

    def _look(self) -> float:
        """How long to wait; when not at all, the process may call. One step away from the event loop."""
        seconds = self._throttle.seconds_to_wait() if self._throttle else 0.0
        if seconds <= 0:
            self._before_call()
        return seconds
