"""Whose message is whose on a connection that several agents use, and whose turn it is."""

from __future__ import annotations

from typing import Any

from harness.mcp.outcome import Kind, classify
from harness.mcp.sharing.switchboard import AGENT_MARK, IN_FLIGHT, WAITING, Caller, Switchboard


class Ends(list[tuple[str, str, str]]):
    """How calls ended."""

    def __call__(self, caller: Caller, tool: str, _: str, how: str) -> None:
        self.append((caller.name, tool, how))


class Agent:
    """One that numbers its requests from 1, as all do."""

    def __init__(self, board: Switchboard, name: str) -> None:
        self.heard: list[Any] = []
        self.caller = Caller(name, self.heard.append)
        self._board = board
        self._numbers = 0
        board.join(self.caller)

    def asks(self, method: str, **params: Any) -> int:
        self._numbers += 1
        message = {"jsonrpc": "2.0", "id": self._numbers, "method": method, "params": params}
        self._board.from_agent(self.caller, message)
        return self._numbers

    def calls(self, tool: str = "echo", **meta: Any) -> int:
        return self.asks("tools/call", name=tool, _meta=meta)

    def cancels(self, number: int) -> None:
        params = {"requestId": number}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self._board.from_agent(self.caller, message)


def switchboard() -> tuple[Switchboard, Ends]:
    ends = Ends()
    return Switchboard(ends), ends


def sent(board: Switchboard) -> list[dict[str, Any]]:
    return list(iter(board.next, None))  # type: ignore[arg-type]


def result(number: int, text: str = "") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}}


def test_answers_go_back_to_whom_they_are_for_under_the_id_that_was_asked() -> None:
    board, ends = switchboard()
    alice, bob = Agent(board, "alice"), Agent(board, "bob")
    alice.calls("read")
    bob.calls("write")
    first, second = sent(board)
    assert first["params"]["_meta"][AGENT_MARK] == "alice"
    assert first["id"] != second["id"]
    board.from_server(result(second["id"], "to bob"))
    board.from_server(result(first["id"], "to alice"))
    assert alice.heard == [result(1, "to alice")]
    assert bob.heard == [result(1, "to bob")]
    assert ends == [("bob", "write", "answered"), ("alice", "read", "answered")]


def test_the_flood_of_one_agent_does_not_starve_another() -> None:
    board, _ = switchboard()
    flood, other = Agent(board, "flood"), Agent(board, "other")
    for _ in range(WAITING):
        flood.calls()
    other.calls()
    order = [message["params"]["_meta"][AGENT_MARK] for message in sent(board)]
    assert order[:2] == ["flood", "other"]
    assert order.count("flood") == IN_FLIGHT
    for _ in range(IN_FLIGHT + 1):
        flood.calls()
    assert flood.heard[0]["error"]["message"].startswith("too many calls of this agent wait")
    other.calls()
    assert [message["params"]["_meta"][AGENT_MARK] for message in sent(board)] == ["other"]


def test_progress_goes_to_the_call_it_is_of() -> None:
    board, _ = switchboard()
    alice, bob = Agent(board, "alice"), Agent(board, "bob")
    alice.calls(progressToken=1)
    bob.calls()
    first, second = sent(board)
    for number in (first["params"]["_meta"]["progressToken"], second["id"], 99, True):
        params = {"progressToken": number, "progress": 1}
        board.from_server({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    assert [message["params"] for message in alice.heard] == [{"progressToken": 1, "progress": 1}]
    assert not bob.heard  # it asked for none


def test_a_call_that_is_taken_back_is_cancelled_where_it_is() -> None:
    board, ends = switchboard()
    alice = Agent(board, "alice")
    at_server = alice.calls("slow")
    (call,) = sent(board)
    for _ in range(IN_FLIGHT):
        waiting = alice.calls("later")
    assert len(sent(board)) == IN_FLIGHT - 1
    alice.cancels(waiting)
    alice.cancels(at_server)
    (told,) = sent(board)
    assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", call["id"])
    assert ends == [("alice", "slow", "cancelled")]


def test_what_an_agent_leaves_behind_is_cancelled_and_heard_by_nobody() -> None:
    board, ends = switchboard()
    alice, bob = Agent(board, "alice"), Agent(board, "bob")
    alice.calls("slow")
    (call,) = sent(board)
    board.leave(alice.caller)
    (told,) = sent(board)
    assert told["params"]["requestId"] == call["id"]
    bob.calls()
    sent(board)
    board.from_server(result(call["id"], "too late"))
    assert not bob.heard
    assert ends == [("alice", "slow", "cancelled")]


def test_the_handshake_is_made_once_and_answered_to_all() -> None:
    board, _ = switchboard()
    alice, bob = Agent(board, "alice"), Agent(board, "bob")
    alice.asks("initialize")
    bob.asks("initialize")
    (asked,) = sent(board)
    board.from_server({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": "x"}})
    late = Agent(board, "late")
    late.asks("initialize")
    for one in (alice, bob, late):
        assert one.heard == [{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "x"}}]
        board.from_agent(one.caller, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert [message["method"] for message in sent(board)] == ["notifications/initialized"]


def test_a_handshake_that_failed_may_be_tried_by_the_next() -> None:
    board, _ = switchboard()
    alice = Agent(board, "alice")
    alice.asks("initialize")
    (asked,) = sent(board)
    board.from_server({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1, "message": "busy"}})
    assert "error" in alice.heard[0]
    alice.asks("initialize")
    assert len(sent(board)) == 1


def test_a_response_to_nobody_is_told_to_the_only_call_and_passes_for_none() -> None:
    board, _ = switchboard()
    alice, bob = Agent(board, "alice"), Agent(board, "bob")
    number = alice.calls()
    sent(board)
    for stranger in (result(9999), result(number)):  # the second was never asked under that number
        del alice.heard[:]
        board.from_server({**stranger, "id": "1"} if stranger["id"] == number else stranger)
        (heard,) = alice.heard
        assert classify(heard, sent_id=number).kind is Kind.PROTOCOL_MISMATCH
    bob.calls()
    sent(board)
    board.from_server(result(9999))
    assert not bob.heard  # nobody knows whose it is


def test_news_go_to_everybody_and_those_of_a_subscription_to_who_has_it() -> None:
    board, _ = switchboard()
    alice, bob = Agent(board, "alice"), Agent(board, "bob")
    listening = alice.asks("subscriptions/listen")
    (asked,) = sent(board)
    key = "io.modelcontextprotocol/subscriptionId"
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    board.from_server({**changed, "params": {"_meta": {key: asked["id"]}}})
    assert alice.heard == [{**changed, "params": {"_meta": {key: listening}}}]
    assert not bob.heard
    board.from_server(changed)
    assert alice.heard[1:] == bob.heard == [changed]


def test_a_question_of_the_server_is_answered_for_all() -> None:
    board, _ = switchboard()
    Agent(board, "alice")
    board.from_server({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    board.from_server({"jsonrpc": "2.0", "id": 8, "method": "sampling/createMessage"})
    pong, refusal = sent(board)
    assert pong == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert (refusal["id"], refusal["error"]["code"]) == (8, -32601)


def test_what_was_at_a_server_that_is_gone_is_lost() -> None:
    board, ends = switchboard()
    Agent(board, "alice").calls("slow")
    sent(board)
    board.lost()
    assert ends == [("alice", "slow", "lost")]
