from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from coordination.usage import Usage
from harness.models.model import ModelRequest, Reply
from harness.scripted.model import NoRuleFits, Script, ScriptedModel, UnfitMessages, what_is_seen
from harness.scripted.playbook import Playbook
from tests.support.model import after, calls, says

ALICE = "role=teammate name=alice task=task_1\nYou work."
BOB = "role=teammate name=bob task=task_2\nYou work."
GO = [{"role": "user", "content": "go"}]


def script(rules: str) -> Script:
    return Script(Playbook.parse(f"format: 1\nrules:\n{rules}"))


def test_the_first_rule_that_fits_answers() -> None:
    answers = script(
        "- {when: {last_user: stop}, say: halt}\n- {when: {last_user: go}, say: one}\n- say: two"
    )
    assert answers.answer(ALICE, GO).content == [{"type": "text", "text": "one"}]


def test_a_rule_speaks_so_many_times_in_each_conversation() -> None:
    answers = script("- {times: 2, say: again}\n- say: enough")
    said = [answers.answer(ALICE, GO).content[0]["text"] for _ in range(3)]
    assert said == ["again", "again", "enough"]
    assert answers.answer(BOB, GO).content[0]["text"] == "again"


def test_a_rule_that_may_speak_once_speaks_once_among_threads() -> None:
    answers = script("- {times: 1, say: me}\n- say: others")
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda _: answers.answer(ALICE, GO).content[0]["text"], range(64)))
    assert said.count("me") == 1


def test_ids_that_results_brought_fill_the_next_calls() -> None:
    answers = script(
        "- when: {results: '(?P<a>task_[0-9a-f]+) one.*(?P<b>task_[0-9a-f]+) two'}\n"
        "  say: ${b} waits for ${a}\n"
        "  call: [{update_task: {task_id: '${b}', add_blocked_by: ['${a}']}}, {list_tasks: }]"
    )
    made = calls("create_task", "create_task")
    answer = answers.answer(ALICE, after(made, "Created task_0a one", "Created task_0b two"))
    reply = Reply(content=answer.content, stop_reason=answer.stop_reason)
    assert (reply.text, reply.stop_reason) == ("task_0b waits for task_0a", "tool_use")
    assert [(use.name, use.input) for use in reply.tool_uses] == [
        ("update_task", {"task_id": "task_0b", "add_blocked_by": ["task_0a"]}),
        ("list_tasks", {}),
    ]


def test_no_two_calls_ever_share_an_id() -> None:
    answers = script("- call: [{look: }, {look: }]")
    ids = [block["id"] for _ in range(2) for block in answers.answer(ALICE, GO).content]
    assert len(set(ids)) == 4


def test_what_is_seen_tells_the_last_message_from_the_whole() -> None:
    first, second = calls("look", "write"), calls("done")
    messages = [*after(first, "a", "b", then="news"), *after(second, "c")[1:]]
    assert what_is_seen("role=lead", messages) == {
        "system": "role=lead",
        "last_user": "news",
        "last_result": "c",
        "results": "a\nb\nc",
        "tools_called": "look write done",
    }


def test_after_a_text_there_is_no_last_result() -> None:
    messages = [
        *after(calls("look"), "a"),
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "on"},
    ]
    seen = what_is_seen("", messages)
    assert (seen["last_result"], seen["last_user"]) == ("", "on")


def test_results_written_as_blocks_are_seen_too() -> None:
    call = calls("look")
    messages = after(call, "x")
    messages[-1]["content"][0]["content"] = says("as a block").content
    assert what_is_seen("", messages)["last_result"] == "as a block"


def test_usage_is_what_the_rule_says() -> None:
    told = script("- {say: x, usage: {input_tokens: 7, cache_write_tokens: 9}}").answer(ALICE, GO)
    assert (told.usage, told.counts_input) == (Usage(input_tokens=7, cache_write_tokens=9), False)


@pytest.mark.anyio
async def test_without_a_word_of_the_rule_usage_is_that_of_a_cache() -> None:
    model = ScriptedModel(Playbook.parse("{format: 1, rules: [{say: x}]}"))
    messages = after(calls("look"), "r" * 4000)
    request = ModelRequest(model="scripted", system=ALICE, messages=messages[:1], max_tokens=10)
    first = (await model.reply(request, lambda _: None)).usage
    second = (await model.reply(replace(request, messages=messages), lambda _: None)).usage
    assert (first.cache_read_tokens, first.input_tokens) == (0, 0)
    assert second.cache_read_tokens == first.cache_write_tokens
    assert second.cache_write_tokens > 1000


def test_a_request_that_no_rule_fits_is_shown() -> None:
    with pytest.raises(NoRuleFits) as caught:
        script("- {when: {last_user: stop}, say: x}").answer(ALICE, GO)
    assert "role=teammate name=alice task=task_1" in str(caught.value)
    assert "last_user: 'go'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_messages_that_a_real_server_would_reject_are_rejected() -> None:
    with pytest.raises(UnfitMessages, match="no results for"):
        script("- say: x").answer(ALICE, after(calls("look"), "a")[:2])
