"""A playbook served over HTTP in the wire format of the Messages API, faults included."""

from __future__ import annotations

import argparse
import secrets
import socket
import sys
import threading
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

import msgspec

from harness.scripted.cache import PromptCache
from harness.scripted.model import (
    STATUS_OF_FAULT,
    Answer,
    NoRuleFits,
    Script,
    TooLong,
    UnfitMessages,
    estimate,
)
from harness.scripted.playbook import Fault, Playbook, PlaybookInvalid
from harness.scripted.wire import completed, streamed

WRONG_KEY = "wrong"  # the one key that is refused
IDLE_SECONDS = 600.0  # after which a connection that says nothing is closed
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
WEB_PAGE = b"<html><body>Your session has expired.</body></html>"


class ScriptedServer:
    """A server on this host that answers from a playbook while the context lasts."""

    def __init__(self, playbook: Playbook, *, port: int = 0) -> None:
        """Port 0 takes a free one. Raises OSError when the port is taken."""
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.script = Script(playbook)
        self._server.cache = PromptCache()
        self._thread = threading.Thread(  # a daemon: who ends without closing it does not wait for it
            target=self._server.serve_forever, args=(0.1,), name="scripted-server", daemon=True
        )

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL has to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No thread and no connection is left; waiting requests get no answer."""
        self._server.end()
        self._thread.join()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # a whole team connects at once
    daemon_threads = False  # so that closing waits for them
    script: Script
    cache: PromptCache

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.ending = threading.Event()
        self._connections: set[socket.socket] = set()
        super().__init__(address, handler)

    def end(self) -> None:
        self.ending.set()
        self.shutdown()
        for connection in list(self._connections):
            _hang_up(connection)
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - as the base class has it
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - likewise
        if not isinstance(sys.exception(), OSError):  # a client that hung up is no news
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # small segments would wait 40 ms for the other side's ACK
    timeout = IDLE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        known, path = _entries(self.server.script.playbook), unquote(self.path.partition("?")[0])
        found = [entry for entry in known if path.endswith(f"/v1/models/{entry['id']}")]
        if not (found or path.endswith("/v1/models")):
            self._refuse(404, f"nothing at {self.path}")
        elif self._is_let_in():
            self._send_json(200, found[0] if found else _page(known))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if not path.endswith(("/v1/messages", "/v1/messages/count_tokens")):
            self._refuse(404, f"nothing at {self.path}")
        elif self._is_let_in():
            self._answer(body, counts_only=path.endswith("/count_tokens"))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as the base class has it
        """Say nothing: who runs a server watches the team, not its requests."""

    def _answer(self, body: bytes, *, counts_only: bool) -> None:
        try:
            request = msgspec.json.decode(body, type=_Request)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._refuse(400, str(error))
            return
        models = self.server.script.playbook.models
        if request.model not in models:
            self._refuse(404, f"model: {request.model} (this playbook offers {', '.join(models)})")
            return
        if why := self.server.script.too_wordy(request.max_tokens):
            self._refuse(400, why)
            return
        if counts_only:
            self._send_json(200, {"input_tokens": estimate(request.instructions, request.messages)})
            return
        try:
            answer = self.server.script.answer(request.instructions, request.messages)
        except (NoRuleFits, UnfitMessages, TooLong) as error:
            self._refuse(400, str(error))
            return
        if answer.counts_input:
            read = self.server.cache.usage(msgspec.json.decode(body))
            answer = replace(answer, usage=answer.usage + read)
        if not self.server.ending.wait(answer.delay_seconds):
            self._play(request, answer)

    def _play(self, request: _Request, answer: Answer) -> None:
        if answer.fault in STATUS_OF_FAULT:
            self._fail(answer.fault, answer.retry_after_seconds)
        elif answer.fault is Fault.WEB_PAGE:
            self._send(200, WEB_PAGE, {"content-type": "text/html", "content-length": str(len(WEB_PAGE))})
        elif request.stream:
            body = streamed(answer, request.model)
            self._send(200, body, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
            self.close_connection = answer.fault is Fault.CUT
        else:
            self._send_json(200, completed(answer, request.model))

    def _is_let_in(self) -> bool:
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        if not key or key == WRONG_KEY:
            self._refuse(401, "invalid bearer token or x-api-key")
            return False
        return True

    def _fail(self, fault: Fault, retry_after_seconds: float | None) -> None:
        status, message, details = STATUS_OF_FAULT[fault], f"playbook: {fault}", {}
        if fault is Fault.TOO_LONG:
            message = "prompt is too long: 210000 tokens > 200000 maximum"
        if fault is Fault.SPEND_LIMIT:
            details = {"details": {"error_code": "enforced_spend_limit_reached"}}
        if fault is Fault.RATE_LIMITED and retry_after_seconds is None:
            retry_after_seconds = 0.0
        more = {} if retry_after_seconds is None else {"retry-after": f"{retry_after_seconds:g}"}
        self._refuse(status, message, more, details)

    def _refuse(
        self,
        status: int,
        message: str,
        more: dict[str, str] | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        error = {"type": ERROR_TYPES[status], "message": message, **(details or {})}
        self._send_json(status, {"type": "error", "error": error, "request_id": _request_id()}, more)

    def _send_json(self, status: int, document: dict[str, Any], more: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(document)
        headers = {"content-type": "application/json", "content-length": str(len(body)), **(more or {})}
        self._send(status, body, headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Head and body in one segment."""
        phrase = "Overloaded" if status == 529 else HTTPStatus(status).phrase
        lines = [f"HTTP/1.1 {status} {phrase}", f"request-id: {_request_id()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)


class _Request(msgspec.Struct):
    """What is looked at in a request; the rest is for real models."""

    model: str
    messages: list[dict[str, Any]]
    max_tokens: int = 0  # none where tokens are only counted
    system: str | list[dict[str, Any]] = ""
    stream: bool = False

    @property
    def instructions(self) -> str:
        if isinstance(self.system, str):
            return self.system
        return "\n".join(block.get("text", "") for block in self.system)


def _entries(playbook: Playbook) -> list[dict[str, Any]]:
    return [
        {
            "type": "model",
            "id": name,
            "display_name": f"{name} (playbook)",
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": playbook.capacity.window_tokens,
            "max_tokens": playbook.capacity.reply_tokens,
        }
        for name in playbook.models
    ]


def _page(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"data": entries, "has_more": False, "first_id": entries[0]["id"], "last_id": entries[-1]["id"]}


def _request_id() -> str:
    return f"req_{secrets.token_hex(12)}"


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it was gone already
        return


def main(arguments: list[str] | None = None) -> int:
    """Serve a playbook in the foreground; 2 when it is invalid or the port is taken."""
    parser = argparse.ArgumentParser(prog="python -m harness.scripted.server", description=__doc__)
    parser.add_argument("playbook", type=Path)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        server = ScriptedServer(Playbook.load(given.playbook), port=given.port)
    except (PlaybookInvalid, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    with server:
        sys.stdout.write(f"scripted model on {server.url}\n")
        sys.stdout.flush()
        try:
            server.wait()
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
