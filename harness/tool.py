"""What a tool is, what it is given, and what may stand in its way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from coordination.child import Confine, RunningGroups, unconfined
from coordination.errors import TeamError

if TYPE_CHECKING:
    from pathlib import Path

Arguments = Mapping[str, Any]  # a tool's input, raw JSON that fits its schema


class Effect(StrEnum):
    """What a call may change; decides the default verdict and what may run side by side."""

    READ = "read"  # nothing
    CHANGE = "change"  # the working directory, or anything at all (a shell)
    TEAM = "team"  # tasks, mail, members
    OUTSIDE = "outside"  # whatever an MCP server does; no tree of ours, though perhaps much else


class ToolCall(Protocol):
    """A call as the model asked for it."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def input(self) -> dict[str, Any]: ...


@dataclass(eq=False)
class ToolFailure(TeamError):
    """The tool could not do what was asked; `code` is the reason, `detail` the way on."""

    code: str
    detail: str
    says = "{detail}"

    @property
    def reason(self) -> str:
        return self.code


@dataclass(eq=False)
class NoWorkingDirectory(TeamError):
    """There is no directory to work in, or it is gone; there is never another one instead."""

    why: str
    says = "no working directory: {why}"


@dataclass(frozen=True)
class Refusal:
    """Why a call was not run: the gate that refused, a reason code, and what the model can do."""

    gate: str  # schema, semantic, plan, lease, permission, hook
    reason: str
    text: str

    def __str__(self) -> str:
        return f"[{self.gate}/{self.reason}] {self.text}"


@dataclass(frozen=True)
class Amended:
    """A call that may pass, but not as it was asked for."""

    input: dict[str, Any]  # judged anew by every other gate
    remark: str = ""  # for the model, behind the result


class OutputFiles(Protocol):
    """Where text goes that is too long for the conversation."""

    @property
    def directory(self) -> Path:
        """The files lie here; file tools may read below it."""
        ...

    def write(self, call_id: str, text: str) -> Path:
        """The whole text is in the file returned. Raises StateUnwritable."""
        ...


class Distrust(Protocol):
    """Hears that a result was written elsewhere."""

    async def __call__(self, why: str, server: str = "", /) -> None:
        """That is on record. `server` is the one that it comes from, which the person may trust."""
        ...


async def trusting(why: str, server: str = "", /) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The surroundings of one call."""

    cwd: Callable[[], Path]  # asked at each use, since a lease may end; raises NoWorkingDirectory
    environment: Callable[[], Mapping[str, str]]  # all that a child process may see
    outputs: OutputFiles
    confine: Confine = unconfined  # where commands run
    progress: Callable[[], None] = lambda: None  # a sign of life, called while a long call goes on
    groups: RunningGroups = field(default_factory=RunningGroups)  # of the processes that tools run
    hidden: Callable[[str], bool] = lambda _: False  # files, by place, that searches pass over
    distrust: Distrust = trusting  # told why a result comes from elsewhere, before anybody sees it
    untrusted: Callable[[], str] = lambda: ""  # what of that kind the conversation holds
    call_id: str = ""

    @property
    def is_confined(self) -> bool:
        """True when commands run in a sandbox."""
        return self.confine is not unconfined


@dataclass(frozen=True)
class Output:
    """A result that is more than text."""

    text: str
    images: tuple[dict[str, Any], ...] = ()  # blocks of the Messages API


Run = Callable[[dict[str, Any], ToolContext], Awaitable[str | Output]]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One callable for the model: schema, handler and checks in one place."""

    name: str
    description: str
    input_schema: dict[str, Any]  # JSON Schema of an object; built-in ones through `closed`
    run: Run  # returns the result; any exception becomes an error result
    effect: Effect
    semantic: Callable[[Arguments], Refusal | None] | None = None  # pure; beyond what a schema can say
    ends_turn: bool = False  # after it succeeded the model is not called again in this turn
    runs_commands: bool = False  # of the model's; its events say whether they ran in the sandbox
    is_bounded: bool = False  # its result has a limit of its own and is always shown whole
    at_once: int | None = None  # so many neighbouring calls of it alone run at the same time, reads or not

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as the Messages API wants it."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}


class Guard(Protocol):
    """One gate that every call passes; asked in the order in which the pool got them."""

    @property
    def gate(self) -> str: ...

    @property
    def waits(self) -> int:
        """How often it has waited for somebody so far: for a person, or for a hook."""
        ...

    async def check(self, call: ToolCall, tool: Tool) -> Refusal | Amended | None:
        """None lets the call pass. An exception refuses it."""
        ...


class Record(Protocol):
    """Writes one event of the audit trail (`coordination.events.EventLog.record`)."""

    def __call__(self, action: str, /, **fields: object) -> None: ...


def closed(properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of an object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def objection(reason: str, text: str) -> Refusal:
    """The refusal of a semantic check."""
    return Refusal(gate="semantic", reason=reason, text=text)
