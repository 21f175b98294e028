"""A scripted answer as the bytes that a Messages API server sends."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from harness.scripted.playbook import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.scripted.model import Answer, Blocks

PIECE_CHARACTERS = 60  # of a text in one event
MOST_PIECES = 40  # a long text costs no more events than this
Event = dict[str, Any]


def completed(answer: Answer, model: str) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    usage = {**_input_usage(answer), "output_tokens": answer.usage.output_tokens}
    return {**_message(model), "content": answer.content, "stop_reason": answer.stop_reason, "usage": usage}


def streamed(answer: Answer, model: str) -> bytes:
    """The body of a stream in chunked encoding, as far as the answer's fault lets it come."""
    events = list(_events(answer, model))
    match answer.fault:
        case Fault.ERROR_EVENT:
            error = {"type": "overloaded_error", "message": f"playbook: {answer.fault}"}
            return _chunk([events[0], {"type": "error", "error": error}]) + b"0\r\n\r\n"
        case Fault.EARLY_END:
            return _chunk(events[:-2]) + b"0\r\n\r\n"
        case Fault.HALF_CALL:
            return _chunk(list(_half_call(events))) + b"0\r\n\r\n"
        case Fault.CUT:
            return _chunk(events[: len(events) // 2])
        case _:
            return _chunk(events) + b"0\r\n\r\n"


def _events(answer: Answer, model: str) -> Iterator[Event]:
    usage = {**_input_usage(answer), "output_tokens": 1}
    yield {"type": "message_start", "message": {**_message(model), "usage": usage}}
    yield {"type": "ping"}
    yield from _block_events(answer.content)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": answer.stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": answer.usage.output_tokens},
    }
    yield {"type": "message_stop"}


def _half_call(events: list[Event]) -> Iterator[Event]:
    """The events with half of the last piece of a call's input, which no later piece makes whole."""
    pieces = [n for n, event in enumerate(events) if event.get("delta", {}).get("type") == "input_json_delta"]
    for number, event in enumerate(events):
        if number in pieces[-1:]:
            written = event["delta"]["partial_json"]
            delta = {**event["delta"], "partial_json": written[: max(1, len(written) // 2)]}
            yield {**event, "delta": delta}
        else:
            yield event


def _block_events(content: Blocks) -> Iterator[Event]:
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty: Event = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        else:
            empty = {**block, "input": {}}
            written = msgspec.json.encode(block["input"]).decode()
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in ("", *_pieces(written))
            ]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _pieces(text: str) -> list[str]:
    step = max(PIECE_CHARACTERS, -(-len(text) // MOST_PIECES))
    return [text[start : start + step] for start in range(0, len(text), step)]


def _message(model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _input_usage(answer: Answer) -> dict[str, int]:
    return {
        "input_tokens": answer.usage.input_tokens,
        "cache_read_input_tokens": answer.usage.cache_read_tokens,
        "cache_creation_input_tokens": answer.usage.cache_write_tokens,
    }


def _chunk(events: list[Event]) -> bytes:
    data = b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + msgspec.json.encode(event) + b"\n\n"
        for event in events
    )
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
