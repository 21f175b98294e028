from __future__ import annotations

from typing import Any

import pytest

from harness.mcp.outcome import NEXT_STEP, Kind, classify

COUNT = {"type": "object", "properties": {"count": {"type": "integer", "minimum": 0}}, "required": ["count"]}
TEXT = [{"type": "text", "text": "hi"}]


def response(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, **fields}


def result(**fields: Any) -> dict[str, Any]:
    return response(result={"content": TEXT, **fields})


ENVELOPES = [
    (None, "unknown", "no_response"),
    ([], "malformed", "not_object"),
    ({"id": 7, "result": {"content": TEXT}}, "protocol_mismatch", "version"),
    ({"jsonrpc": "1.0", "id": 7, "result": {}}, "protocol_mismatch", "version"),
    ({"jsonrpc": "2.0", "result": {"content": TEXT}}, "protocol_mismatch", "missing_id"),
    ({"jsonrpc": "2.0", "id": 8, "result": {"content": TEXT}}, "protocol_mismatch", "wrong_id"),
    ({"jsonrpc": "2.0", "id": "7", "result": {"content": TEXT}}, "protocol_mismatch", "wrong_id"),
    (response(result={"content": TEXT}, error={"code": 1, "message": "x"}), "malformed", "result_and_error"),
    (response(), "malformed", "neither"),
    (response(error="no"), "malformed", "error_not_object"),
    (response(error={"code": True, "message": "x"}), "malformed", "code_not_integer"),
    (response(error={"code": "1", "message": "x"}), "malformed", "code_not_integer"),
    (response(error={"code": -32602, "message": None}), "malformed", "message_not_text"),
    (response(error={"code": -32602, "message": "days is missing"}), "protocol_error", "code_-32602"),
    (response(result="ok"), "malformed", "result_not_object"),
    (response(result={}), "malformed", "no_content"),
    (result(isError="yes"), "malformed", "is_error_not_boolean"),
    (response(result={"content": "hi"}), "malformed", "content"),
    (response(result={"content": [{"text": "hi"}]}), "malformed", "content"),
    (result(isError=True), "tool_error", "is_error"),
    (result(isError=False), "verify_business", "valid"),
    (response(result={"structuredContent": {}}), "verify_business", "valid"),
]


@pytest.mark.parametrize(("raw", "kind", "reason"), ENVELOPES)
def test_a_response_belongs_to_one_class(raw: Any, kind: str, reason: str) -> None:
    outcome = classify(raw, sent_id=7)
    assert (str(outcome.kind), outcome.reason) == (kind, reason)
    assert outcome.next_step == NEXT_STEP[Kind(kind)]


def test_a_boolean_is_no_id() -> None:
    raw = {"jsonrpc": "2.0", "id": True, "result": {"content": TEXT}}
    assert classify(raw, sent_id=1).reason == "wrong_id"


@pytest.mark.parametrize(
    ("structured", "kind", "reason"),
    [
        ({"structuredContent": {}}, "output_schema_error", "missing_field"),
        ({"structuredContent": {"count": 0}}, "verify_business", "valid"),
        ({"structuredContent": {"count": -1}}, "output_schema_error", "wrong_value"),
        ({"structuredContent": {"count": True}}, "output_schema_error", "wrong_type"),
        ({"structuredContent": {"count": "2"}}, "output_schema_error", "wrong_type"),
        ({}, "output_schema_error", "missing"),
        ({"isError": True}, "tool_error", "is_error"),
    ],
)
def test_structured_content_is_held_against_its_schema(
    structured: dict[str, Any], kind: str, reason: str
) -> None:
    outcome = classify(result(**structured), sent_id=7, output_schema=COUNT)
    assert (str(outcome.kind), outcome.reason) == (kind, reason)


def test_a_schema_that_points_elsewhere_fetches_nothing() -> None:
    schema = {"$ref": "http://127.0.0.1:9/schema.json"}
    outcome = classify(result(structuredContent={}), sent_id=7, output_schema=schema)
    assert outcome.reason == "bad_schema"
