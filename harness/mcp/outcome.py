"""Pure: what became of a call, by the raw response alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from harness.input_schema import InputSchema

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """How a call can end; the host sends none of them again by itself."""

    UNKNOWN = "unknown"
    PROTOCOL_MISMATCH = "protocol_mismatch"
    MALFORMED = "malformed"
    PROTOCOL_ERROR = "protocol_error"
    TOOL_ERROR = "tool_error"
    OUTPUT_SCHEMA_ERROR = "output_schema_error"
    VERIFY_BUSINESS = "verify_business"


NEXT_STEP: Mapping[Kind, str] = {
    Kind.UNKNOWN: "the effect may have happened: read back what is there now; do not send it again blindly",
    Kind.PROTOCOL_MISMATCH: "the server answers another protocol: tell the person, do not repeat the call",
    Kind.MALFORMED: "the server is at fault: tell the person, do not repeat the call",
    Kind.PROTOCOL_ERROR: "correct the request",
    Kind.TOOL_ERROR: "try other arguments, or another way",
    Kind.OUTPUT_SCHEMA_ERROR: "server or adapter is at fault: do not rely on the values, tell the person",
    Kind.VERIFY_BUSINESS: "the answer is valid; compare it with what you set out to do before you rely on it",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The class of a call, the reason as a code, and what was seen."""

    kind: Kind
    reason: str
    detail: str = ""

    @property
    def next_step(self) -> str:
        return NEXT_STEP[self.kind]

    @property
    def is_success(self) -> bool:
        return self.kind is Kind.VERIFY_BUSINESS


def no_response(reason: str, detail: str) -> Outcome:
    """Nothing came back: timed_out, connection_lost, interrupted."""
    return Outcome(kind=Kind.UNKNOWN, reason=reason, detail=detail)


def classify(
    raw: Any,  # noqa: ANN401 - raw JSON
    *,
    sent_id: int | str,
    output_schema: dict[str, Any] | None = None,
) -> Outcome:
    """The outcome of a `tools/call` request from the response to it, as it came off the wire."""
    if raw is None:
        return no_response("no_response", "there was no response")
    return _envelope(raw, sent_id) or _result(raw["result"], output_schema)


def _envelope(raw: Any, sent_id: int | str) -> Outcome | None:  # noqa: ANN401 - raw JSON
    """What is wrong with the response before its result is looked at, or the error that it reports."""
    if not isinstance(raw, dict):
        return _malformed("not_object", "the response is no object")
    return _stranger(raw, sent_id) or _halves(raw)


def _stranger(raw: dict[str, Any], sent_id: int | str) -> Outcome | None:
    """Why it is no response to this request."""
    if raw.get("jsonrpc") != "2.0":
        return _mismatch("version", f"jsonrpc is {raw.get('jsonrpc')!r}, not '2.0'")
    if "id" not in raw:
        return _mismatch("missing_id", "the response names no request")
    if raw["id"] != sent_id or type(raw["id"]) is not type(sent_id):  # True is 1, and no id
        return _mismatch("wrong_id", f"the response is to {raw['id']!r}, the request was {sent_id!r}")
    return None


def _halves(raw: dict[str, Any]) -> Outcome | None:
    """A response has a result or an error; the error is what became of the call."""
    if "result" in raw and "error" in raw:
        return _malformed("result_and_error", "the response has both a result and an error")
    if "result" in raw:
        return None
    return _error(raw["error"]) if "error" in raw else _malformed("neither", "it has no result and no error")


def _error(error: Any) -> Outcome:  # noqa: ANN401 - raw JSON
    if not isinstance(error, dict):
        return _malformed("error_not_object", "the error is no object")
    code, message = error.get("code"), error.get("message")
    if isinstance(code, bool) or not isinstance(code, int):
        return _malformed("code_not_integer", f"the code of the error is {code!r}")
    if not isinstance(message, str):
        return _malformed("message_not_text", "the message of the error is no text")
    return Outcome(kind=Kind.PROTOCOL_ERROR, reason=f"code_{code}", detail=message)


def _result(result: Any, output_schema: dict[str, Any] | None) -> Outcome:  # noqa: ANN401 - raw JSON
    if not isinstance(result, dict):
        return _malformed("result_not_object", "the result is no object")
    if fault := _content_fault(result):
        return fault
    if result.get("isError"):
        return Outcome(kind=Kind.TOOL_ERROR, reason="is_error")
    return _valid() if output_schema is None else _structured(result, output_schema)


def _content_fault(result: dict[str, Any]) -> Outcome | None:
    is_error, content = result.get("isError", False), result.get("content", [])
    if not isinstance(is_error, bool):
        return _malformed("is_error_not_boolean", f"isError is {is_error!r}")
    if not isinstance(content, list) or not all(map(_is_block, content)):
        return _malformed("content", "the content is no list of blocks with a type")
    if result.get("resultType") == "input_required":
        detail = "the server wants to ask the person something, which it cannot from here"
        return Outcome(kind=Kind.TOOL_ERROR, reason="input_required", detail=detail)
    if not {"content", "structuredContent"} & result.keys():
        return _malformed("no_content", "the result has no content")
    return None


def _structured(result: dict[str, Any], schema: dict[str, Any]) -> Outcome:
    """The structured content against the schema that the tool declares."""
    if "structuredContent" not in result:
        detail = "the tool declares an output schema and its result has no structured content"
        return Outcome(kind=Kind.OUTPUT_SCHEMA_ERROR, reason="missing", detail=detail)
    fault = InputSchema(schema).fault(result["structuredContent"])
    if fault is None:
        return _valid()
    return Outcome(kind=Kind.OUTPUT_SCHEMA_ERROR, reason=fault.reason, detail=fault.text)


def _is_block(block: Any) -> bool:  # noqa: ANN401 - raw JSON
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _valid() -> Outcome:
    return Outcome(kind=Kind.VERIFY_BUSINESS, reason="valid")


def _malformed(reason: str, detail: str) -> Outcome:
    return Outcome(kind=Kind.MALFORMED, reason=reason, detail=detail)


def _mismatch(reason: str, detail: str) -> Outcome:
    return Outcome(kind=Kind.PROTOCOL_MISMATCH, reason=reason, detail=detail)
