"""The wire itself, as any client sees it; that the SDK understands it is shown in test_anthropic_model."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer, _Handler, main
from tests.support.model import after, calls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAYBOOK = Playbook.parse("""
format: 1
models: [scripted, scripted-small]
rules:
- when: {last_user: read}
  say: I read it.
  call: [{read_file: {path: a.py}}, {bash: {command: pytest}}]
  usage: {input_tokens: 7, output_tokens: 3, cache_read_tokens: 100, cache_write_tokens: 5}
- {when: {last_user: wait}, delay_seconds: 600, say: too late}
- {when: {last_user: together}, delay_seconds: 0.2, say: all at once}
- {when: {last_user: rate}, fault: rate_limited}
- {when: {last_user: over}, fault: overloaded}
- {when: {last_user: broken}, fault: broken}
- {when: {system: second line}, say: I see the system prompt}
- {when: {last_user: hi}, say: hello}
""")
KEY = {"x-api-key": "k"}
Answer = tuple[int, Any, Any]  # status, headers, decoded body


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(PLAYBOOK) as running:
        yield running


def connect(server: ScriptedServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)


def ask(server: ScriptedServer, text: str, key: dict[str, str] = KEY, **more: Any) -> Answer:
    """What comes of a request that asks for no stream."""
    body = {
        "model": "scripted",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": text}],
        **more,
    }
    return post(server, json.dumps(body), key)


def post(server: ScriptedServer, body: str, key: dict[str, str] = KEY, path: str = "/v1/messages") -> Answer:
    connection = connect(server)
    try:
        connection.request("POST", path, body, key)
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read())
    finally:
        connection.close()


def test_a_reply_in_one_piece_has_the_fields_of_the_wire(server: ScriptedServer) -> None:
    status, headers, body = ask(server, "read")
    assert (status, body["type"], body["role"], body["stop_reason"]) == (
        200,
        "message",
        "assistant",
        "tool_use",
    )
    assert headers["request-id"].startswith("req_")
    assert [block["type"] for block in body["content"]] == ["text", "tool_use", "tool_use"]
    assert body["usage"] == {
        "input_tokens": 7,
        "output_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 5,
    }


def test_a_stream_has_the_events_of_the_wire_in_their_order(server: ScriptedServer) -> None:
    connection = connect(server)
    request = {
        "model": "scripted",
        "max_tokens": 9,
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }
    connection.request("POST", "/v1/messages?beta=true", json.dumps(request), KEY)
    response = connection.getresponse()
    events = [json.loads(line[6:]) for line in response.read().splitlines() if line.startswith(b"data: ")]
    connection.close()
    assert response.headers["content-type"] == "text/event-stream"
    assert [event["type"] for event in events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_head_and_body_leave_in_one_segment() -> None:
    class Segments(io.BytesIO):
        def write(self, data: Any) -> int:
            sent.append(bytes(data))
            return len(data)

    sent: list[bytes] = []
    handler = _Handler.__new__(_Handler)
    handler.wfile = Segments()
    handler._send(529, b"body", {"content-length": "4"})
    assert len(sent) == 1
    assert sent[0].startswith(b"HTTP/1.1 529 Overloaded\r\n")
    assert sent[0].endswith(b"content-length: 4\r\n\r\nbody")


@pytest.mark.parametrize("key", [{"x-api-key": "k"}, {"authorization": "Bearer k"}])
def test_a_key_is_taken_under_either_header(server: ScriptedServer, key: dict[str, str]) -> None:
    assert ask(server, "hi", key)[0] == 200


@pytest.mark.parametrize("key", [{}, {"x-api-key": "wrong"}, {"authorization": "Bearer wrong"}])
def test_a_wrong_or_missing_key_is_refused(server: ScriptedServer, key: dict[str, str]) -> None:
    status, _, body = ask(server, "hi", key)
    assert (status, body["error"]["type"]) == (401, "authentication_error")


def test_models_are_those_of_the_playbook(server: ScriptedServer) -> None:
    connection = connect(server)
    connection.request("GET", "/v1/models?limit=100", headers=KEY)
    listed = json.loads(connection.getresponse().read())
    connection.close()
    assert [model["id"] for model in listed["data"]] == ["scripted", "scripted-small"]


def test_a_model_that_the_playbook_does_not_name_is_unknown(server: ScriptedServer) -> None:
    status, _, body = ask(server, "hi", model="big")
    assert (status, body["error"]["type"]) == (404, "not_found_error")
    assert "big" in body["error"]["message"]


def test_a_request_that_no_rule_fits_is_refused_and_shown(server: ScriptedServer) -> None:
    status, _, body = ask(server, "sing")
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
    assert "last_user: 'sing'" in body["error"]["message"]


def test_a_call_left_without_its_result_is_refused(server: ScriptedServer) -> None:
    status, _, body = ask(server, "", messages=after(calls("look"), "x")[:2])
    assert status == 400
    assert "no results for" in body["error"]["message"]


@pytest.mark.parametrize("body", ["", "{", "[]", '{"model": "scripted", "messages": []}'])
def test_a_body_that_is_no_request_is_refused(server: ScriptedServer, body: str) -> None:
    assert post(server, body)[0] == 400


def test_an_unknown_path_is_not_found(server: ScriptedServer) -> None:
    assert post(server, "{}", path="/v1/complete")[0] == 404


def test_a_path_prefix_of_a_gateway_is_accepted(server: ScriptedServer) -> None:
    body = json.dumps({"model": "scripted", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]})
    assert post(server, body, path="/gw/v1/messages")[0] == 200


@pytest.mark.parametrize(("text", "status"), [("rate", 429), ("over", 529), ("broken", 500)])
def test_faults_have_their_status(server: ScriptedServer, text: str, status: int) -> None:
    found, headers, body = ask(server, text)
    assert (found, body["type"]) == (status, "error")
    assert headers["retry-after"] == ("0" if status == 429 else None)


def test_a_system_prompt_in_blocks_is_read_whole(server: ScriptedServer) -> None:
    blocks = [{"type": "text", "text": "first"}, {"type": "text", "text": "second line"}]
    assert ask(server, "x", system=blocks)[2]["content"][0]["text"] == "I see the system prompt"


def test_a_connection_is_kept_for_the_next_request(server: ScriptedServer) -> None:
    connection = connect(server)
    for _ in range(2):
        connection.request("GET", "/v1/models", headers=KEY)
        assert connection.getresponse().read()
        kept = connection.sock
    connection.close()
    assert kept is not None


def test_thirty_agents_at_once_wait_side_by_side(server: ScriptedServer) -> None:
    with ThreadPoolExecutor(30) as agents:
        statuses = list(agents.map(lambda _: ask(server, "together")[0], range(30)))
    assert statuses == [200] * 30


def test_leaving_ends_waiting_requests_and_every_thread() -> None:
    with ScriptedServer(PLAYBOOK) as server, ThreadPoolExecutor(1) as agent:
        waiting = agent.submit(ask, server, "wait")
        idle = connect(server)
        idle.request("GET", "/v1/models", headers=KEY)
        idle.getresponse().read()
        server.close()
    assert isinstance(waiting.exception(), http.client.HTTPException | ConnectionError)
    assert idle.sock is not None
    assert idle.sock.recv(1) == b""
    idle.close()
    assert not [thread for thread in threading.enumerate() if "process_request" in thread.name]


def test_a_port_in_use_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.yaml").write_text("format: 1\nrules: [{say: x}]\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main([str(tmp_path / "p.yaml"), "--port", str(taken.getsockname()[1])]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_broken_playbook_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.yaml").write_text("format: 1\nrules: [{sya: x}]\n", encoding="utf-8")
    assert main([str(tmp_path / "p.yaml")]) == 2
    assert "rule 1" in capsys.readouterr().err
