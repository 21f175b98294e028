"""Whatever is left out of a history, in whatever order, what stays is one that a server takes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.context import edits
from harness.context.conversation import Conversation
from harness.context.messages import (
    blocks_of,
    call_ids,
    fault,
    is_blank,
    open_calls,
    repaired,
    result_ids,
)
from harness.context.summary import opening
from tests.support.histories import Message, histories, lines_of

steps = st.one_of(
    st.tuples(st.just("bound"), st.integers(0, 9000)),
    st.tuples(st.just("images"), st.integers(0, 3)),
    st.tuples(st.just("shorten"), st.integers(0, 4)),
    st.tuples(st.just("trim"), st.integers(0, 12)),
    st.tuples(st.just("summary"), st.integers(0, 20_000)),
)


def conversation_of(messages: list[Message]) -> Conversation:
    conversation = Conversation()
    conversation.take({"kind": "conversation", "messages": messages, "requests": ["the request"]})
    return conversation


def line_of(step: str, size: int, messages: list[Message]) -> dict[str, Any] | None:
    """The line with which the compactor would make that step; None when it finds nothing to do."""
    match step:
        case "bound":
            found = edits.bound_new_results(messages, total=size, preview_characters=100)
        case "images":
            found = edits.drop_old_images(messages, kept=size, kept_bytes=1000)
        case "shorten":
            found = edits.shorten_consumed(messages, kept=size)
        case "trim":
            cut = edits.middle(messages, kept=size)
            return {"step": "trim", "head": cut[0], "tail": cut[1], "note": "left out"} if cut else None
        case _:
            tail = edits.newest_part(messages, characters=size)
            text = opening(["the request"], "state", request_characters=1000, where="f.txt")
            return {"step": "summary", "tail": tail, "text": text}
    named = [edit.naming("f.txt") if edit.removed else edit for edit in found]
    return {"step": "edits", "edits": [edit.to_json() for edit in named]}


@given(histories(), st.lists(steps, max_size=6))
def test_any_steps_leave_a_history_that_is_fit_and_whose_newest_part_is_whole(
    messages: list[Message], todo: list[tuple[str, int]]
) -> None:
    conversation = conversation_of(messages)
    errors = {call for message in messages for call in failed(message)}
    for step, size in todo:
        before = conversation.messages
        line = line_of(step, size, before)
        if line is None:
            continue
        conversation.take({"kind": "context", **line})
        after = conversation.messages
        assert fault(after) is None
        assert newest_reply(after) == newest_reply(before)  # thinking, signature and place included
        if step != "bound":
            assert unseen(after) == unseen(before)
        assert [result_ids(message) for message in unseen(after)] == [
            result_ids(message) for message in unseen(before)
        ]
        kept = {call for message in after for call in result_ids(message)}
        assert {call for message in after for call in failed(message)} == errors & kept
        assert conversation.characters == conversation_of(after).characters


@given(histories(), st.data())
def test_every_allowed_cut_leaves_a_fit_history_and_no_other_does(
    messages: list[Message], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(messages)))
    text = {"type": "text", "text": "a summary"}
    rest = [{"role": "user", "content": [text]}, *messages[cut:]]
    assert (fault(rest) is None) == (cut in edits.allowed_cuts(messages))


@given(histories(), st.data())
def test_a_history_cut_anywhere_is_repaired_and_loses_no_words(
    messages: list[Message], data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(messages) - 1))
    end = data.draw(st.integers(begin + 1, len(messages)))
    rest = messages[begin:end]
    mended = repaired(rest)
    assert not mended or fault(mended) is None
    first = next((n for n, each in enumerate(rest) if each["role"] == "user"), len(rest))
    assert words(mended) >= words(rest[first:])
    answered = {call for message in mended for call in result_ids(message)}
    assert {call for message in rest[first:] for call in call_ids(message)} == answered


@given(histories(), st.lists(steps, max_size=3), st.data())
def test_what_a_journal_holds_can_be_gone_on_with_wherever_it_ends_and_whatever_line_of_it_is_lost(
    messages: list[Message], todo: list[tuple[str, int]], data: st.DataObject
) -> None:
    lines = lines_of(messages)
    lines = lines[: data.draw(st.integers(1, len(lines)))]
    for step, size in todo:
        line = line_of(step, size, Conversation.of(lines).messages)
        lines += [{"kind": "context", **line}] if line else []
    lost = data.draw(st.one_of(st.none(), st.integers(0, len(lines) - 1)))
    after = Conversation.of(line for number, line in enumerate(lines) if number != lost)
    assert not after.messages or fault(after.messages) is None
    assert open_calls(after.messages) == []
    assert after.characters == conversation_of(after.messages).characters


def failed(message: Message) -> list[str]:
    return [block["tool_use_id"] for block in blocks_of(message) if block.get("is_error")]


def newest_reply(messages: list[Message]) -> Message | None:
    return next((message for message in reversed(messages) if message["role"] == "assistant"), None)


def unseen(messages: list[Message]) -> list[Message]:
    first = edits.first_unseen(messages)
    return messages[first:] if first else []


def words(messages: list[Message]) -> set[str]:
    return {
        block["text"]
        for message in messages
        for block in blocks_of(message)
        if block["type"] == "text" and not is_blank(block)
    }
