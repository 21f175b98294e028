from harness.models.model import CredentialsRefused, ModelBusy, NoReply, Reply, UnknownModel
from tests.support.model import calls, says


def test_text_of_a_reply_leaves_thinking_and_calls_out() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    content = [
        thinking,
        *says("one").content,
        *calls("look").content,
        *says(" ").content,
        *says("two").content,
    ]
    assert Reply(content=content, stop_reason="tool_use").text == "one\ntwo"


def test_calls_come_in_the_order_of_the_blocks_whatever_the_stop_reason_says() -> None:
    reply = calls("look", "write", stop_reason="end_turn", path="a")
    assert [(use.name, use.input) for use in reply.tool_uses] == [
        ("look", {"path": "a"}),
        ("write", {"path": "a"}),
    ]


def test_a_stop_reason_of_tool_use_without_a_call_is_no_call() -> None:
    assert says("done", stop_reason="tool_use").tool_uses == []


def test_a_block_of_an_unknown_type_is_neither_text_nor_call() -> None:
    reply = Reply(content=[{"type": "quantum_block", "text": None}], stop_reason="end_turn")
    assert (reply.text, reply.tool_uses) == ("", [])


def test_only_a_reply_that_ran_out_of_room_is_cut() -> None:
    assert says("x", stop_reason="max_tokens").is_cut
    assert says("x", stop_reason="model_context_window_exceeded").is_cut
    assert not says("x").is_cut


def test_every_failure_of_a_call_says_on_one_line_what_to_do() -> None:
    failures: list[NoReply] = [
        CredentialsRefused(address="http://x", cause="no {such} key"),
        UnknownModel(model="big", address="http://x", offered="small"),
        ModelBusy(status=529, cause="overloaded"),
    ]
    texts = [str(failure) for failure in failures]
    assert all("\n" not in text for text in texts)
    assert "ANTHROPIC_API_KEY" in texts[0]
    assert "'big'" in texts[1]
    assert "small" in texts[1]
