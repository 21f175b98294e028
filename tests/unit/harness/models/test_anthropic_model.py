"""The official SDK against the scripted server over a loopback socket, and the in-process twin beside it."""

from __future__ import annotations

import gc
import socket
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.lowlevel
import pytest

from coordination.usage import Usage
from harness.models.anthropic_model import AnthropicModel, load_sdk
from harness.models.endpoint import Endpoint
from harness.models.model import (
    Capacity,
    CredentialsMissing,
    CredentialsRefused,
    ImproperEnd,
    Model,
    ModelBusy,
    ModelRefused,
    ModelRequest,
    ModelUnreachable,
    NoReply,
    PromptTooLong,
    Reply,
    SpendLimitReached,
    UnknownModel,
)
from harness.models.recovery import ATTEMPTS, RecoveringModel, Waiting
from harness.scripted.model import ScriptedModel
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from tests.support.model import after, asks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PLAYBOOK = Playbook.parse(
    """
format: 1
rules:
- when: {last_user: 'read (?P<file>\\S+)', last_result: '^$'}
  say: I read ${file}.
  call: [{read_file: {path: '${file}'}}, {bash: {command: 'cat ${file}', timeout: 5}}, {list_tasks: }]
  usage: {input_tokens: 7, output_tokens: 3, cache_read_tokens: 100, cache_write_tokens: 5}
- {when: {last_result: seen}, say: I have seen it}
- {when: {last_user: umlaut}, say: 'grüße 🙂 ${_}'}
- {when: {last_user: long}, say: 'LONG'}
- {when: {last_user: cut}, say: I run it, call: {bash: {command: rm}}, fault: cut}
- {when: {last_user: early}, say: I run it, call: {bash: {command: rm}}, fault: early_end}
- {when: {last_user: event}, say: I run it, fault: error_event}
- {when: {last_user: over}, fault: overloaded}
- {when: {last_user: rate}, fault: rate_limited}
- {when: {last_user: broken}, fault: broken}
- {when: {last_user: no money}, fault: spend_limit}
- {when: {last_user: too much}, fault: too_long}
- {when: {last_user: too many bytes}, fault: too_large}
- {when: {last_user: half a call}, call: {bash: {command: rm -rf build}}, fault: half_call}
- {when: {last_user: a page}, fault: web_page}
- {when: {last_user: slow down}, fault: overloaded, retry_after_seconds: 7}
- {when: {last_user: flaky}, times: 2, fault: cut}
- {when: {last_user: flaky}, say: at last}
- {when: {last_user: silence}, delay_seconds: 600, say: too late}
""".replace("${_}", "").replace("LONG", "word " * 2000)
)
SIZED = Playbook.parse(
    "format: 1\nmodels: [team/large]\nwindow_tokens: 50000\nreply_tokens: 4000\n"
    "rules: [{say: half, stop_reason: max_tokens}]"
)
Kind = Literal["in process", "over HTTP"]

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(PLAYBOOK) as running:
        yield running


@pytest.fixture(params=["in process", "over HTTP"])
async def model(request: pytest.FixtureRequest, server: ScriptedServer) -> AsyncIterator[Model]:
    """Both ways to a playbook; every test that takes this is a conformance test of them."""
    made: Model = ScriptedModel(PLAYBOOK)
    if request.param == "over HTTP":
        made = AnthropicModel(Endpoint(address=server.url, api_key="k"))
    yield made
    await made.close()


@asynccontextmanager
async def connected(
    address: str, key: str = "k", *, silence_seconds: float = 20.0
) -> AsyncIterator[AnthropicModel]:
    made = AnthropicModel(Endpoint(address=address, api_key=key), silence_seconds=silence_seconds)
    yield made
    await made.close()


async def ask(model: Model, text: str) -> Reply:
    return await model.reply(asks(text), lambda _: None)


async def failure(model: Model, request: ModelRequest) -> NoReply:
    with pytest.raises(NoReply) as caught:
        await model.reply(request, lambda _: None)
    return caught.value


@contextmanager
def raw_server(response: bytes) -> Iterator[str]:
    """The address of a server that answers every connection with these bytes and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):  # the listener was shut down
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(response)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=20)


def http(status: int, body: str, kind: str = "application/json", more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body.encode())}\r\n{more}\r\n"
    )
    return (head + body).encode()


# what both ways to a playbook have in common


async def test_a_text_comes_whole_and_unharmed(model: Model) -> None:
    reply = await ask(model, "umlaut")
    assert (reply.text, reply.stop_reason, reply.tool_uses) == ("grüße 🙂 ", "end_turn", [])


async def test_several_calls_of_one_reply_come_in_order(model: Model) -> None:
    reply = await ask(model, "read a.py")
    assert reply.text == "I read a.py."
    assert [(use.name, use.input) for use in reply.tool_uses] == [
        ("read_file", {"path": "a.py"}),
        ("bash", {"command": "cat a.py", "timeout": 5}),
        ("list_tasks", {}),
    ]


async def test_usage_has_the_cache_fields_and_the_request_its_id(model: Model) -> None:
    reply = await ask(model, "read a.py")
    assert reply.usage == Usage(
        calls=1, input_tokens=7, output_tokens=3, cache_read_tokens=100, cache_write_tokens=5
    )
    assert (reply.request_id or "").startswith("req_")
    assert reply.model == "scripted"


async def test_a_reply_goes_back_into_the_next_request_as_it_came(model: Model) -> None:
    reply = await ask(model, "read a.py")
    messages = after(reply, "seen", "seen", "seen", to="read a.py")
    request = ModelRequest(model="scripted", system="role=lead", messages=messages, max_tokens=10)
    assert (await model.reply(request, lambda _: None)).text == "I have seen it"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cut", ImproperEnd),
        ("early", ImproperEnd),
        ("event", ModelBusy),
        ("over", ModelBusy),
        ("rate", ModelBusy),
        ("broken", ModelBusy),
        ("no money", SpendLimitReached),
        ("too much", PromptTooLong),
        ("too many bytes", PromptTooLong),
        ("half a call", ImproperEnd),
        ("a page", ImproperEnd),
        ("sing", ModelRefused),
    ],
)
async def test_each_fault_is_told_apart(model: Model, text: str, expected: type[NoReply]) -> None:  # T126
    assert type(await failure(model, asks(text))) is expected


@pytest.mark.parametrize(("text", "overloaded"), [("over", True), ("event", True), ("rate", False)])
async def test_an_overload_is_known_as_one_also_inside_a_stream(
    model: Model, text: str, *, overloaded: bool
) -> None:
    error = await failure(model, asks(text))
    assert isinstance(error, ModelBusy)
    assert error.overloaded is overloaded


async def test_an_overload_says_how_long_to_wait(model: Model) -> None:
    error = await failure(model, asks("slow down"))
    assert isinstance(error, ModelBusy)
    assert error.retry_after_seconds == 7


async def test_tokens_are_counted(model: Model) -> None:
    assert 20 < (await model.count(asks("word " * 20)) or 0) < 60


async def test_an_unknown_model_is_named_with_what_there_is(model: Model) -> None:
    error = await failure(model, asks("umlaut", model="big"))
    assert isinstance(error, UnknownModel)
    assert (error.model, error.offered) == ("big", "scripted")


# the SDK alone


async def test_text_comes_in_pieces_and_every_event_is_a_sign_of_life(server: ScriptedServer) -> None:
    heard: list[str] = []
    async with connected(server.url) as model:
        reply = await model.reply(asks("long"), heard.append)
    assert "".join(heard) == reply.text
    assert len([piece for piece in heard if piece]) > 10
    assert "" in heard


async def test_a_wrong_key_is_one_clear_refusal(server: ScriptedServer) -> None:
    waits: list[Waiting] = []
    async with connected(server.url, "wrong") as model:
        error = await failure(RecoveringModel(model, on_wait=waits.append), asks("umlaut"))
    assert isinstance(error, CredentialsRefused)
    assert (error.address, waits) == (server.url, [])
    assert "ANTHROPIC_API_KEY" in str(error)


@pytest.mark.parametrize("endpoint", [Endpoint(), Endpoint(api_key="", auth_token="")])
async def test_without_a_key_there_is_no_model(endpoint: Endpoint) -> None:
    with pytest.raises(CredentialsMissing):
        AnthropicModel(endpoint)


async def test_a_token_does_where_there_is_no_key(server: ScriptedServer) -> None:
    model = AnthropicModel(Endpoint(address=server.url, auth_token="t"))
    assert (await ask(model, "umlaut")).text
    await model.close()


async def test_the_environment_is_not_asked_for_a_key(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong")
    async with connected(server.url) as model:
        assert (await ask(model, "umlaut")).text


def test_a_key_is_not_shown_with_its_endpoint() -> None:
    assert "sk-" not in repr(Endpoint(api_key="sk-1"))


async def test_without_a_server_the_attempts_end_unreachable() -> None:
    waits: list[Waiting] = []
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    async with connected(address) as model:
        patient = RecoveringModel(model, on_wait=waits.append, sleep=lambda _: anyio.lowlevel.checkpoint())
        error = await failure(patient, asks("umlaut"))
    assert isinstance(error, ModelUnreachable)
    assert (error.address, len(waits)) == (address, ATTEMPTS - 1)


async def test_a_stream_that_broke_twice_is_asked_for_again(server: ScriptedServer) -> None:
    async with connected(server.url) as model:
        patient = RecoveringModel(model, sleep=lambda _: anyio.lowlevel.checkpoint())
        assert (await ask(patient, "flaky")).text == "at last"


async def test_who_does_not_count_says_nothing() -> None:
    for answer in (http(404, "<html>nothing</html>"), http(200, "<html>login</html>", "text/html")):
        with raw_server(answer) as address:
            async with connected(address) as model:
                assert await model.count(asks("x")) is None


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        ('{"type": "model", "max_input_tokens": 1000000, "max_tokens": 64000}', (1_000_000, 64_000)),
        ('{"id": "qwen", "object": "model", "max_model_len": 32768}', (32_768, None)),  # vLLM
        ('{"max_input_tokens": null, "max_tokens": 0}', (None, None)),
        ('{"max_input_tokens": true, "max_tokens": "many"}', (None, None)),
        ("[]", (None, None)),
        ("<html>login</html>", (None, None)),
    ],
)
async def test_what_a_model_takes_is_read_where_its_server_says_so(
    answer: str, known: tuple[int | None, int | None]
) -> None:
    with raw_server(http(200, answer)) as address:
        async with connected(address) as model:
            said = await model.capacity("scripted")
            assert (said.window_tokens, said.reply_tokens) == known


async def test_who_does_not_say_what_a_model_takes_is_asked_once_and_fails_nothing() -> None:
    with raw_server(http(404, "{}")) as address:
        async with connected(address) as model:
            assert await model.capacity("scripted") == Capacity()
    with ScriptedServer(SIZED) as server:
        async with connected(server.url, key="wrong") as model:
            assert await model.capacity("team/large") == Capacity()
        async with connected(server.url) as model:
            assert (await model.capacity("team/large")).window_tokens == 50_000
            server.close()
            assert (await model.capacity("team/large")).window_tokens == 50_000
            assert await model.capacity("another") == Capacity()


async def test_a_server_that_keeps_silent_about_it_holds_nobody_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with connected(f"http://127.0.0.1:{silent.getsockname()[1]}") as model:
            await model.warm_up()
            with anyio.fail_after(10):
                assert await model.capacity("scripted") == Capacity()
                assert await model.capacity("scripted") == Capacity()


async def test_no_longer_a_reply_is_asked_for_than_the_model_gives() -> None:
    for sized in (ScriptedModel(SIZED), None):
        with ScriptedServer(SIZED) as server:
            model = sized or AnthropicModel(Endpoint(address=server.url, api_key="k"))
            asked = replace(asks("x"), model="team/large", max_tokens=4000)
            assert isinstance(await failure(model, replace(asked, max_tokens=4001)), ModelRefused)
            reply = await RecoveringModel(model).reply(asked, lambda _: None)
            assert (reply.text, reply.usage.calls) == ("half", 1)  # not asked for twice as much
            await model.close()


async def test_silence_longer_than_agreed_is_a_failure(server: ScriptedServer) -> None:
    async with connected(server.url, silence_seconds=0.1) as model:
        assert isinstance(await failure(model, asks("silence")), ModelUnreachable)


async def test_a_waiting_call_can_be_cancelled(server: ScriptedServer) -> None:
    async with connected(server.url) as model:
        await model.warm_up()
        with anyio.move_on_after(0.1) as scope:
            await ask(model, "silence")
        assert scope.cancelled_caught
        assert (await ask(model, "umlaut")).text


async def test_what_the_server_offers_can_be_asked(server: ScriptedServer) -> None:
    async with connected(server.url) as model:
        assert await model.offered() == ["scripted"]


async def test_a_page_instead_of_a_stream_is_an_improper_end() -> None:
    with raw_server(http(200, "<html>login</html>", "text/html")) as address:
        async with connected(address) as model:
            assert isinstance(await failure(model, asks("x")), ImproperEnd)


async def test_nonsense_in_a_stream_is_an_improper_end() -> None:
    with raw_server(http(200, "event: message_start\ndata: {oops\n\n", "text/event-stream")) as address:
        async with connected(address) as model:
            assert isinstance(await failure(model, asks("x")), ImproperEnd)


def error_body(message: str, code: str | None = None) -> str:
    details = f', "details": {{"error_code": "{code}"}}' if code else ""
    return f'{{"type": "error", "error": {{"type": "x", "message": "{message}"{details}}}}}'


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, error_body("prompt is too long: 9 > 8"), PromptTooLong),
        (413, "<html>too large</html>", PromptTooLong),
        (429, error_body("no", "enforced_spend_limit_reached"), SpendLimitReached),
        (402, error_body("pay"), SpendLimitReached),
        (403, error_body("no"), CredentialsRefused),
        (503, "<html>later</html>", ModelBusy),
        (422, error_body("odd"), ModelRefused),
    ],
)
async def test_each_refusal_of_a_server_is_told_apart(
    status: int, body: str, expected: type[NoReply]
) -> None:  # T126
    with raw_server(http(status, body)) as address:
        async with connected(address) as model:
            error = await failure(model, asks("x"))
    assert type(error) is expected
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7.0), ("0.5", 0.5), ("Mon, 30 Nov 2026", None), ("inf", None)]
)
async def test_the_wait_that_a_server_asks_for_is_read(said: str, seconds: float | None) -> None:
    with raw_server(http(429, error_body("slow"), more=f"retry-after: {said}\r\n")) as address:
        async with connected(address) as model:
            error = await failure(model, asks("x"))
    assert isinstance(error, ModelBusy)
    assert error.retry_after_seconds == seconds


async def test_a_server_without_that_path_is_told_as_such() -> None:
    with raw_server(http(404, "<html>nothing</html>", more="connection: close\r\n")) as address:
        async with connected(address) as model:
            error = await failure(model, asks("x"))
    assert isinstance(error, UnknownModel)
    assert "ANTHROPIC_BASE_URL" in str(error)


async def test_the_collector_leaves_the_sdk_alone_and_goes_on() -> None:
    gc.unfreeze()
    await load_sdk()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
