"""Doubles around a model: one that answers from a list, and the parts that an agent needs beside it."""

from __future__ import annotations

import copy
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Any

from coordination.usage import Usage
from harness.context.compactor import Compactor
from harness.context.gauge import ContextLimits
from harness.context.messages import fault
from harness.journal import Journal
from harness.loop import Agent, AgentSettings, Inbox, Incoming
from harness.models.model import Capacity, Model, ModelRequest, NoReply, Reply, ToolUse
from harness.results import ResultFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.team_root import Team
    from harness.loop import Pool

ONE_CALL = Usage(calls=1, input_tokens=10, output_tokens=2)
JOURNAL = ".team/transcripts/alice~7.jsonl"
_ids = count(1)


def says(text: str, *, stop_reason: str = "end_turn") -> Reply:
    """A reply of one text."""
    return Reply(content=[{"type": "text", "text": text}], stop_reason=stop_reason, usage=ONE_CALL)


def calls(*names: str, stop_reason: str = "tool_use", **arguments: Any) -> Reply:
    """A reply that calls these tools, all with the same input, under fresh ids."""
    content = [
        {"type": "tool_use", "id": f"toolu_{next(_ids)}", "name": name, "input": arguments} for name in names
    ]
    return Reply(content=content, stop_reason=stop_reason, usage=ONE_CALL)


def asks(
    text: str, *, model: str = "scripted", system: str = "role=teammate name=alice task="
) -> ModelRequest:
    """A request with one message."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return ModelRequest(model=model, system=system, messages=[message], max_tokens=1000)


def after(reply: Reply, *results: str, to: str = "go", then: str = "") -> list[dict[str, Any]]:
    """The messages of a conversation in which `reply` answered `to`, its calls came to `results`."""
    blocks: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": use.id, "content": text}
        for use, text in zip(reply.tool_uses, results, strict=True)
    ]
    if then:
        blocks.append({"type": "text", "text": then})
    return [
        {"role": "user", "content": to},
        {"role": "assistant", "content": reply.content},
        {"role": "user", "content": blocks},
    ]


class FakeModel:
    """A `harness.models.model.Model` that gives what is in a list; no request may be one a server rejects."""

    def __init__(self, *replies: Reply | NoReply, on_call: Callable[[], object] = lambda: None) -> None:
        self._replies = deque(replies)
        self._on_call = on_call
        self.requests: list[ModelRequest] = []
        self.closed = False
        self.counts: int | None = None  # what it says when it is asked to count
        self.counted: list[ModelRequest] = []
        self.capacities: dict[str, Capacity] = {}  # of its models, where it says so
        self.asked_about: list[str] = []

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        assert fault(request.messages) is None
        self.requests.append(copy.deepcopy(request))
        self._on_call()
        reply = self._replies.popleft()
        if isinstance(reply, NoReply):
            raise reply
        on_text(reply.text)
        return reply

    async def count(self, request: ModelRequest) -> int | None:
        self.counted.append(request)
        return self.counts

    async def capacity(self, model: str) -> Capacity:
        self.asked_about.append(model)
        return self.capacities.get(model, Capacity())

    async def close(self) -> None:
        self.closed = True


class FakePool:
    """Satisfies `harness.loop.Pool`: every tool succeeds with its own name."""

    def __init__(self, *, enders: Sequence[str] = (), on_run: Callable[[], object] = lambda: None) -> None:
        self._enders = enders
        self._on_run = on_run
        self.ran: list[str] = []

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]

    async def run(self, calls: Sequence[ToolUse], /) -> list[dict[str, Any]]:
        self.ran += [call.name for call in calls]
        self._on_run()
        return [{"type": "tool_result", "tool_use_id": call.id, "content": call.name} for call in calls]

    def ends_turn(self, calls: Sequence[ToolUse], results: Sequence[dict[str, Any]], /) -> bool:
        return any(call.name in self._enders for call in calls) and len(results) == len(calls)


class FakeInbox(Inbox):
    """What a test puts in comes out once."""

    def __init__(self) -> None:
        self._new: list[Incoming] = []
        self.takes = 0
        self.answers = 0
        self.withdrawn: list[str] = []  # what is put back when no model replies

    def put(self, text: str, **fields: Any) -> None:
        self._new.append(Incoming(text=text, kind="mail", journal=fields))

    async def take(self) -> list[Incoming]:
        self.takes += 1
        new, self._new = self._new, []
        return new

    async def answered(self) -> None:
        self.answers += 1

    async def put_back(self) -> list[str]:
        return self.withdrawn


class FakeEvents:
    """Satisfies `coordination.events.Recorder`: keeps what was recorded."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def record(self, action: str, /, **fields: object) -> None:
        self.lines.append({"action": action, **fields})


class AgentUnderTest:
    """An agent with a real journal and doubles for everything else."""

    def __init__(
        self,
        team: Team,
        model: Model,
        pool: Pool | None = None,
        *,
        limits: ContextLimits | None = None,
        state: str = "",
        **settings: Any,
    ) -> None:
        self.model = model
        self.state = state
        self.pool = pool or FakePool()
        self.inbox = FakeInbox()
        self.events = FakeEvents()
        self.compactor = Compactor(
            model=model,
            outputs=ResultFiles(team.directory, ".team/outputs/alice~7"),
            limits=limits or ContextLimits(),
            events=self.events,
            state=self._state,
        )
        self.agent = Agent(
            model=model,
            pool=self.pool,
            inbox=self.inbox,
            journal=Journal(team.directory, JOURNAL, team.clock),
            system=lambda: "role=teammate name=alice task=",
            settings=AgentSettings(model="scripted", **settings),
            compactor=self.compactor,
            events=self.events,
        )

    async def _state(self) -> str:
        return self.state

    def texts_of_request(self, number: int) -> list[str]:
        """The user-side texts of a request, from 0."""
        return [
            block["text"]
            for message in self.model.requests[number].messages
            if message["role"] == "user"
            for block in message["content"]
            if block["type"] == "text"
        ]
