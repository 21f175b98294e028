from __future__ import annotations

from typing import Any

import pytest

from harness.context.conversation import Conversation
from harness.context.messages import OUTCOME_UNKNOWN, fault, open_calls
from tests.support.model import after, calls, says

CALL = calls("look")
RESULT = {"type": "tool_result", "tool_use_id": CALL.tool_uses[0].id, "content": "seen"}


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, **fields}


def messages_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return Conversation.of(lines).messages


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_user_side_lines_gather_in_one_message() -> None:
    assert messages_of([line("user", text="goal"), line("mail", text="news", source="x")]) == [
        {"role": "user", "content": [text("goal"), text("news")]}
    ]


def test_results_come_before_what_arrived_meanwhile() -> None:
    lines = [
        line("user", text="goal"),
        line("assistant", content=CALL.content),
        line("mail", text="stop"),
        line("tool_results", content=[RESULT]),
    ]
    assert messages_of(lines)[-1]["content"] == [RESULT, text("stop")]


def test_blank_texts_are_not_sent() -> None:
    lines = [
        line("user", text="go"),
        line("mail", text=" \n"),
        line("assistant", content=[text(""), *CALL.content]),
    ]
    conversation = Conversation()
    for each in lines:
        conversation.take(each)
    assert conversation.messages == [
        {"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": CALL.content},
    ]


def test_a_reply_without_content_leaves_no_message() -> None:
    messages = messages_of([line("user", text="a"), line("assistant", content=[]), line("user", text="b")])
    assert messages == [{"role": "user", "content": [text("a"), text("b")]}]


def test_thinking_is_kept_as_it_came() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "SIG"}
    messages = messages_of([line("user", text="a"), line("assistant", content=[thinking, text("b")])])
    assert messages[1]["content"] == [thinking, text("b")]


def test_a_new_conversation_forgets_the_one_before() -> None:
    lines = [line("user", text="old"), line("conversation", why="next task"), line("user", text="new")]
    assert messages_of(lines) == [{"role": "user", "content": [text("new")]}]


def test_lines_without_text_are_no_messages() -> None:
    assert messages_of([line("checkpoint", positions={}), line("mail", text=None)]) == []


def test_a_call_whose_end_nobody_saw_is_answered_as_unknown_and_not_run_again() -> None:
    messages = messages_of([line("user", text="deploy"), line("assistant", content=CALL.content)])
    assert messages[-1]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": CALL.tool_uses[0].id,
            "content": OUTCOME_UNKNOWN,
            "is_error": True,
        }
    ]
    assert fault(messages) is None


def test_only_calls_without_a_result_are_open() -> None:
    two = calls("look", "write")
    assert open_calls(after(two, "a", "b")[:2]) == [use.id for use in two.tool_uses]
    assert open_calls(after(two, "a", "b")) == []


def test_open_calls_of_a_plain_text_conversation_are_none() -> None:
    assert open_calls([{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}]) == []


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "first message"),
        ([{"role": "assistant", "content": "hi"}], "first message"),
        ([{"role": "user", "content": []}], "empty"),
        ([{"role": "user", "content": [text(" ")]}], "empty"),
        ([{"role": "user", "content": "go"}, {"role": "assistant", "content": CALL.content}], "no results"),
        ([{"role": "user", "content": [RESULT]}], "no call"),
        ([*after(CALL, "x")[:2], {"role": "user", "content": "forgot"}], "none"),
        ([*after(CALL, "x")[:2], {"role": "user", "content": [text("a"), RESULT]}], "first"),
        ([*after(CALL, "x")[:2], {"role": "user", "content": [RESULT, RESULT]}], "expected"),
    ],
)
def test_what_a_server_would_reject_is_named(messages: list[dict[str, Any]], why: str) -> None:
    assert why in (fault(messages) or "")


def test_a_whole_conversation_is_fit() -> None:
    assert fault([*after(CALL, "seen"), {"role": "assistant", "content": says("done").content}]) is None


def test_withdrawn_texts_are_gone_and_the_rest_stays() -> None:
    lines = [
        {"kind": "user", "text": "do it"},
        {"kind": "schedule", "text": "the meeting"},
        {"kind": "withdrawn", "texts": ["the meeting"]},
    ]
    assert messages_of(lines) == [{"role": "user", "content": [{"type": "text", "text": "do it"}]}]
    assert messages_of(lines[1:]) == []
