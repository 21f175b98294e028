"""Pure: whose message is whose, on one connection to a server that several agents use.

An agent's ids and progress tokens are its own; towards the server they are numbers of the switchboard.
What the server answers goes back as it came but for the id, so that the agent judges it as its own.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.mcp.wire import CALL_MARK

if TYPE_CHECKING:
    from collections.abc import Callable

IN_FLIGHT = 8  # requests of one agent at the server; further ones wait while others have their turn
WAITING = 1000  # requests of one agent; a further one is refused
AGENT_MARK = "io.leadhand/agent"  # in `_meta` of a call: who makes it
LISTENING = "io.modelcontextprotocol/subscriptionId"  # in `_meta` of what a server tells a listener
HANDSHAKES = {"initialize", "server/discover"}  # answered once, for everybody
TOO_MANY = -32000
NO_SUCH_METHOD = -32601

Raw = dict[str, Any]


@dataclass(eq=False)
class Caller:
    """One agent's end of the connection."""

    name: str
    deliver: Callable[[Any], None]  # a message of the server on its way to the agent
    waiting: deque[Raw] = field(default_factory=deque)
    in_flight: int = 0


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A request at the server."""

    caller: Caller
    id: int | str  # the caller's own
    token: object  # of its progress; None for one that wants none
    tool: str = ""
    call: str = ""


@dataclass
class _Handshake:
    """A request that all agents make alike; its answer once it came, and who waits for that."""

    number: int
    answer: Raw | None = None
    waiting: list[tuple[Caller, int | str]] = field(default_factory=list)


class Switchboard:
    """`next` is what the server is to be sent; `ended` is told of every call that came to an end."""

    def __init__(self, ended: Callable[[Caller, str, str, str], None]) -> None:
        """`ended` gets the caller, the tool, the id of the call, and answered, cancelled or lost."""
        self._ended = ended
        self._callers: deque[Caller] = deque()  # the next one whose turn it is comes first
        self._asked: dict[int, _Asked] = {}
        self._handshakes: dict[str, _Handshake] = {}
        self._first: deque[Raw] = deque()  # goes to the server before any request of an agent
        self._numbers = 0
        self._is_initialized = False

    def join(self, caller: Caller) -> None:
        """The agent takes part."""
        self._callers.append(caller)

    def leave(self, caller: Caller) -> None:
        """The agent is gone: its calls are cancelled at the server."""
        self._callers.remove(caller)
        caller.waiting.clear()
        for handshake in self._handshakes.values():
            handshake.waiting = [of for of in handshake.waiting if of[0] is not caller]
        for number in [of for of, asked in self._asked.items() if asked.caller is caller]:
            self._cancel(number, "its caller is gone")

    def lost(self) -> None:
        """The server is gone: no call that it had comes to an answer."""
        for asked in self._asked.values():
            self._tell(asked, "lost")
        self._asked.clear()

    def next(self) -> Raw | None:
        """What is sent to the server now: one request of each agent in turn. None while all wait."""
        if self._first:
            return self._first.popleft()
        for _ in range(len(self._callers)):
            caller = self._callers[0]
            self._callers.rotate(-1)
            if caller.waiting and caller.in_flight < IN_FLIGHT:
                return self._admit(caller, caller.waiting.popleft())
        return None

    def from_agent(self, caller: Caller, message: Raw) -> None:
        """What an agent says, put where it belongs; what only a host of its own could say is dropped."""
        method, identity = message.get("method"), message.get("id")
        if method in HANDSHAKES:
            self._shake_hands(caller, message)
        elif method and identity is not None:
            if len(caller.waiting) < WAITING:
                caller.waiting.append(message)
            else:
                why = "too many calls of this agent wait for the shared server; send fewer"
                caller.deliver(_error(identity, TOO_MANY, why))
        elif method == "notifications/cancelled":
            self._take_back(caller, (message.get("params") or {}).get("requestId"))
        elif method == "notifications/initialized" and not self._is_initialized:
            self._is_initialized = True
            self._first.append(message)

    def _shake_hands(self, caller: Caller, message: Raw) -> None:
        asked = message["method"] if message["method"] == "initialize" else _sort_of(message)
        if handshake := self._handshakes.get(asked):
            if handshake.answer is None:
                handshake.waiting.append((caller, message["id"]))
            else:
                caller.deliver({**handshake.answer, "id": message["id"]})
            return
        number = self._number()
        self._handshakes[asked] = _Handshake(number, waiting=[(caller, message["id"])])
        self._first.append({**message, "id": number})

    def _take_back(self, caller: Caller, identity: object) -> None:
        for message in list(caller.waiting):
            if message["id"] == identity:
                caller.waiting.remove(message)
                return
        for number, asked in list(self._asked.items()):
            if asked.caller is caller and asked.id == identity:
                self._cancel(number, "the call was cancelled")
                return

    def _cancel(self, number: int, why: str) -> None:
        asked = self._asked.pop(number)
        asked.caller.in_flight -= 1
        told = {"requestId": number, "reason": why}
        self._first.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": told})
        self._tell(asked, "cancelled")

    def _admit(self, caller: Caller, message: Raw) -> Raw:
        number, params = self._number(), dict(message.get("params") or {})
        meta = dict(params.get("_meta") or {})
        token = meta.get("progressToken")
        if token is not None:
            meta["progressToken"] = number
        tool = ""
        if message["method"] == "tools/call":
            tool, meta[AGENT_MARK] = str(params.get("name")), caller.name
        self._asked[number] = _Asked(
            caller=caller, id=message["id"], token=token, tool=tool, call=str(meta.get(CALL_MARK, ""))
        )
        caller.in_flight += 1
        return {**message, "id": number, **({"params": params | {"_meta": meta}} if meta else {})}

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def from_server(self, message: Any) -> None:  # noqa: ANN401 - raw JSON
        """What the server says, brought to whom it concerns."""
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            if "id" in message:
                self._first.append(_answer_of_host(message))
            else:
                self._notify(message)
            return
        identity = message.get("id") if isinstance(message, dict) else None
        if type(identity) is int and 0 < identity <= self._numbers:
            self._answer(identity, message)
            return
        calls = [asked for asked in self._asked.values() if asked.tool]
        if len(calls) == 1:  # it answers nobody, so it can only be about this one
            calls[0].caller.deliver(_not_ours(message))

    def _answer(self, number: int, message: Raw) -> None:
        for sort, handshake in self._handshakes.items():
            if handshake.number == number and handshake.answer is None:
                handshake.answer = message
                if sort == "initialize" and "result" not in message:
                    del self._handshakes[sort]  # the next agent may have more luck
                for caller, identity in handshake.waiting:
                    caller.deliver({**message, "id": identity})
                return
        if asked := self._asked.pop(number, None):
            asked.caller.in_flight -= 1
            asked.caller.deliver({**message, "id": asked.id})
            self._tell(asked, "answered")

    def _notify(self, message: Raw) -> None:
        """Progress goes to whose call it is, word of changes to whoever listens, all else to everybody."""
        params = message["params"] if isinstance(message.get("params"), dict) else {}
        meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
        if message["method"] == "notifications/progress":
            if (asked := self._of(params.get("progressToken"))) and asked.token is not None:
                asked.caller.deliver({**message, "params": {**params, "progressToken": asked.token}})
        elif LISTENING in meta:
            if asked := self._of(meta[LISTENING]):
                told = {**params, "_meta": {**meta, LISTENING: asked.id}}
                asked.caller.deliver({**message, "params": told})
        else:
            for caller in list(self._callers):
                caller.deliver(message)

    def _of(self, number: object) -> _Asked | None:
        return self._asked.get(number) if type(number) is int else None

    def _tell(self, asked: _Asked, how: str) -> None:
        if asked.tool:
            self._ended(asked.caller, asked.tool, asked.call, how)


def _sort_of(message: Raw) -> str:
    """The same for two requests that differ in their id only."""
    return json.dumps({key: value for key, value in message.items() if key != "id"}, sort_keys=True)


def _answer_of_host(request: Raw) -> Raw:
    """To what a server asks of its host: it is there; nothing else can be asked of all agents at once."""
    if request["method"] == "ping":
        return {"jsonrpc": "2.0", "id": request["id"], "result": {}}
    return _error(request["id"], NO_SUCH_METHOD, "this host answers no questions of a shared server")


def _not_ours(message: Any) -> Any:  # noqa: ANN401 - raw JSON
    """The message with an id that is surely none of the caller's."""
    if isinstance(message, dict) and "id" in message:
        return {**message, "id": f"{message['id']!r}, which was never asked"}
    return message


def _error(identity: object, code: int, why: str) -> Raw:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": why}}
