from __future__ import annotations

import subprocess  # noqa: TID251 - what an import loads shows only in a fresh interpreter
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from coordination.clock import local
from coordination.usage import Usage
from harness.context.conversation import Conversation
from harness.context.messages import OUTCOME_UNKNOWN
from harness.context.time_told import TimeTold
from harness.journal import read
from harness.loop import Incoming
from harness.models.model import CredentialsRefused, ImproperEnd, Reply
from harness.turn import Ended
from tests.support.model import JOURNAL, AgentUnderTest, FakeModel, FakePool, calls, says

if TYPE_CHECKING:
    from typing import Any

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

GO = [Incoming(text="go")]


pytestmark = pytest.mark.anyio


def kinds(team: Team) -> list[str]:
    return [line["kind"] for line in read(team.directory, JOURNAL)]


async def test_a_reply_without_a_call_ends_the_turn(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(says("hello")))
    outcome = await under.agent.run(GO)
    assert (outcome.text, outcome.ended, outcome.rounds) == ("hello", "done", 1)


async def test_rounds_go_on_until_a_reply_calls_nothing(team: Team) -> None:  # T26, T35
    under = AgentUnderTest(team, FakeModel(*[calls("look")] * 11, says("done")))
    outcome = await under.agent.run(GO)
    assert (outcome.rounds, under.pool.ran) == (12, ["look"] * 11)
    assert under.texts_of_request(11) == ["go"]
    assert outcome.usage == Usage(calls=12, input_tokens=120, output_tokens=24)


async def test_a_call_is_run_although_the_stop_reason_says_the_turn_is_over(team: Team) -> None:  # T102
    under = AgentUnderTest(team, FakeModel(calls("look", stop_reason="end_turn"), says("done")))
    assert (await under.agent.run(GO)).rounds == 2
    assert under.pool.ran == ["look"]


async def test_a_stop_reason_of_tool_use_without_a_call_ends_the_turn(team: Team) -> None:  # T101
    under = AgentUnderTest(team, FakeModel(says("done", stop_reason="tool_use")))
    assert (await under.agent.run(GO)).rounds == 1
    assert kinds(team) == ["user", "assistant"]


async def test_every_call_of_a_reply_has_its_result_in_the_next_request_in_order(team: Team) -> None:
    reply = calls("look", "write", "look")
    under = AgentUnderTest(team, FakeModel(reply, says("done")))
    await under.agent.run(GO)
    results = under.model.requests[1].messages[-1]["content"]
    assert [result["tool_use_id"] for result in results] == [use.id for use in reply.tool_uses]


async def test_what_no_model_replied_to_is_withdrawn_from_the_history(team: Team) -> None:  # T132
    under = AgentUnderTest(team, FakeModel(ImproperEnd(cause="cut"), says("done")))
    under.inbox.put("[Scheduled] the meeting")
    under.inbox.withdrawn = ["[Scheduled] the meeting"]
    await under.agent.run(GO)
    assert under.inbox.answers == 0
    await under.agent.run([Incoming(text="again")])
    assert "[Scheduled] the meeting" in under.texts_of_request(0)
    assert "[Scheduled] the meeting" not in under.texts_of_request(1)
    assert under.inbox.answers == 1


async def test_a_reply_that_broke_off_is_never_run(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(ImproperEnd(cause="cut")))
    outcome = await under.agent.run(GO)
    assert (outcome.ended, under.pool.ran, kinds(team)) == (Ended.GAVE_UP, [], ["user"])


async def test_giving_up_carries_the_failure_and_is_recorded(team: Team) -> None:
    error = CredentialsRefused(address="http://x", cause="no such key")
    under = AgentUnderTest(team, FakeModel(error))
    outcome = await under.agent.run(GO)
    assert (outcome.error, outcome.why) == (error, str(error))
    assert under.events.lines == [
        {"action": "model_gave_up", "reason": "credentials_refused", "error": str(error)}
    ]


async def test_the_model_is_told_the_time_with_what_arrives_once_while_it_is_the_same(
    team: Team, clock: FakeClock
) -> None:
    under = AgentUnderTest(team, FakeModel(says("a"), says("b"), says("c")))
    under.agent.time = TimeTold(clock)
    first = f"<time>{local(clock.now())}</time>"
    await under.agent.run([Incoming(text="one")])
    await under.agent.run([Incoming(text="two")])
    clock.advance(60)
    await under.agent.run([Incoming(text="three")])
    later = f"<time>{local(clock.now())}</time>"
    assert under.texts_of_request(2) == [first, "one", "two", later, "three"]
    assert under.agent.conversation.requests == ["one", "two", "three"]  # it instructs nobody


async def test_with_what_is_withdrawn_its_time_is(team: Team, clock: FakeClock) -> None:
    under = AgentUnderTest(team, FakeModel(ImproperEnd(cause="cut")))
    under.agent.time = TimeTold(clock)
    under.inbox.put("it fires")
    under.inbox.withdrawn = ["it fires"]
    await under.agent.run()
    assert under.agent.messages == []


async def test_what_a_failed_turn_was_asked_is_still_there_for_the_next(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(ImproperEnd(cause="cut"), says("now")))
    await under.agent.run(GO)
    await under.agent.run([Incoming(text="again")])
    assert under.texts_of_request(1) == ["go", "again"]


async def test_half_a_call_is_not_run_and_the_model_is_told(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("write", stop_reason="max_tokens"), says("smaller")))
    await under.agent.run(GO)
    result = under.model.requests[1].messages[-1]["content"][0]
    assert (under.pool.ran, result["is_error"]) == ([], True)
    assert result["content"].startswith("[loop/reply_cut]")


async def test_a_text_out_of_room_goes_on_twice_at_most(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(*[says("and", stop_reason="max_tokens")] * 3))
    assert (await under.agent.run(GO)).rounds == 3


async def test_what_arrived_during_a_tool_is_in_the_next_request_exactly_once(team: Team) -> None:
    pool = FakePool()
    under = AgentUnderTest(team, FakeModel(calls("look"), calls("look"), says("done")), pool)
    pool._on_run = lambda: under.inbox.put("stop, change of plan") if len(pool.ran) == 1 else None
    await under.agent.run(GO)
    assert under.texts_of_request(0) == ["go"]
    assert under.texts_of_request(1) == ["go", "stop, change of plan"]
    assert under.texts_of_request(2) == ["go", "stop, change of plan"]


async def test_mail_is_in_the_journal_with_its_position_before_the_model_is_called(team: Team) -> None:
    seen: list[str] = []
    under = AgentUnderTest(team, FakeModel(says("done"), on_call=lambda: seen.extend(kinds(team))))
    under.inbox.put("news", source="lead~1", offset=3, end=90)
    await under.agent.run()
    assert seen == ["mail"]
    line = next(read(team.directory, JOURNAL))
    assert (line["source"], line["offset"], line["end"], line["text"]) == ("lead~1", 3, 90, "news")


async def test_a_reply_is_in_the_journal_before_its_calls_run(team: Team) -> None:
    seen: list[str] = []
    pool = FakePool(on_run=lambda: seen.extend(kinds(team)))
    await AgentUnderTest(team, FakeModel(calls("look"), says("done")), pool).agent.run(GO)
    assert seen == ["user", "assistant"]


async def test_the_inbox_is_asked_before_every_model_call(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("look"), calls("look"), says("done")))
    await under.agent.run(GO)
    assert under.inbox.takes == 3


async def test_a_stop_during_a_model_call_ends_the_turn_after_its_tools_without_another_call(
    team: Team,
) -> None:  # T28
    under = AgentUnderTest(team, FakeModel(calls("look"), says("never")))
    under.agent.stopping = lambda: bool(under.model.requests)
    outcome = await under.agent.run(GO)
    assert (outcome.ended, outcome.rounds, under.pool.ran) == (Ended.STOPPED, 1, ["look"])
    assert len(under.model.requests) == 1


async def test_a_tool_that_ends_the_turn_leaves_no_further_call(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("submit_plan")), FakePool(enders=["submit_plan"]))
    outcome = await under.agent.run(GO)
    assert (outcome.ended, outcome.rounds) == (Ended.DONE, 1)


async def test_the_turn_after_one_that_a_tool_ended_answers_its_call(team: Team) -> None:
    under = AgentUnderTest(
        team, FakeModel(calls("submit_plan"), says("on")), FakePool(enders=["submit_plan"])
    )
    await under.agent.run(GO)
    await under.agent.run([Incoming(text="approved")])
    assert [block["type"] for block in under.model.requests[1].messages[-1]["content"]] == [
        "tool_result",
        "text",
    ]


async def test_rounds_are_limited(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(*[calls("look")] * 3), max_rounds=3)
    outcome = await under.agent.run(GO)
    assert (outcome.ended, outcome.rounds, outcome.why) == (Ended.LIMIT, 3, "3 model calls in one turn")


async def test_with_nothing_new_the_model_is_not_called(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(says("hello")))
    assert (await under.agent.run()).rounds == 0
    await under.agent.run(GO)
    assert (await under.agent.run()).rounds == 0


async def test_a_cancelled_call_is_answered_as_unknown_by_the_next_turn(team: Team) -> None:
    scope = anyio.CancelScope()

    class CancelledPool(FakePool):
        async def run(self, *_: object) -> list[dict[str, object]]:
            scope.cancel()
            await anyio.sleep_forever()
            return []

    under = AgentUnderTest(team, FakeModel(calls("look"), says("I see")), CancelledPool())
    with scope:
        await under.agent.run(GO)
    await under.agent.run([Incoming(text="what happened?")])
    result, question = under.model.requests[1].messages[-1]["content"]
    assert (result["content"], question["text"]) == (OUTCOME_UNKNOWN, "what happened?")


async def test_the_journal_holds_the_conversation_that_the_model_saw(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("look"), says("done")))
    await under.agent.run(GO)
    assert Conversation.of(read(team.directory, JOURNAL)).messages == under.agent.messages


async def test_an_agent_can_go_on_from_messages_of_before(team: Team) -> None:
    first = AgentUnderTest(team, FakeModel(says("hello")))
    await first.agent.run(GO)
    second = AgentUnderTest(team, FakeModel(says("again")))
    second.agent.conversation = Conversation.of(read(team.directory, JOURNAL))
    await second.agent.run([Incoming(text="more")])
    assert second.texts_of_request(0) == ["go", "more"]


async def test_a_new_conversation_starts_without_the_old_one(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(says("one"), says("two")))
    await under.agent.run(GO)
    await under.agent.begin("next task")
    await under.agent.run([Incoming(text="fresh")])
    assert under.texts_of_request(1) == ["fresh"]
    assert Conversation.of(read(team.directory, JOURNAL)).messages == under.agent.messages


async def test_the_system_prompt_is_asked_for_at_every_call(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("look"), says("done")))
    tasks = iter(["task=", "task=task_1"])
    under.agent._system = lambda: next(tasks)
    await under.agent.run(GO)
    assert [request.system for request in under.model.requests] == ["task=", "task=task_1"]


class PoolWithServers(FakePool):
    @property
    def schemas(self) -> list[dict[str, Any]]:
        return [{"name": "connect_mcp"}, *super().schemas]


@pytest.mark.parametrize(("killed_after", "told"), [("assistant", 1), ("tool_results", 1), ("the end", 0)])
async def test_who_goes_on_is_told_that_no_server_is_connected_unless_nothing_is_to_be_answered(
    team: Team, killed_after: str, told: int
) -> None:
    model = FakeModel(calls("connect_mcp", name="docs"), says("done"))
    under = AgentUnderTest(team, model, PoolWithServers())
    await under.agent.run(GO)
    lines = list(read(team.directory, JOURNAL))
    kinds = [line["kind"] for line in lines]
    end = kinds.index(killed_after) + 1 if killed_after in kinds else len(lines)
    await under.agent.go_on(Conversation.of(lines[:end]))
    assert str(under.agent.messages).count("Before you use tools of docs again, call connect_mcp.") == told
    assert under.agent.has_to_answer == bool(told)


async def test_who_never_connected_a_server_hears_nothing_of_it(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("look"), says("done")), PoolWithServers())
    await under.agent.run(GO)
    await under.agent.go_on(Conversation.of(list(read(team.directory, JOURNAL))[:3]))
    assert "connect_mcp" not in str(under.agent.messages)


async def test_each_call_is_recorded_with_what_it_used(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("look"), says("done")))
    await under.agent.run(GO)
    first = under.events.lines[0]
    assert (first["action"], first["tools"], first["usage"]["input_tokens"]) == ("model_call", ["look"], 10)


async def test_the_last_words_survive_a_round_without_text(team: Team) -> None:
    last = Reply(content=[], stop_reason="end_turn")
    reply = Reply(content=[*says("I write").content, *calls("write").content], stop_reason="tool_use")
    assert (await AgentUnderTest(team, FakeModel(reply, last)).agent.run(GO)).text == "I write"


async def test_text_is_handed_on_as_it_comes(team: Team) -> None:
    heard: list[str] = []
    under = AgentUnderTest(team, FakeModel(says("hello")))
    under.agent._on_text = heard.append
    await under.agent.run(GO)
    assert heard == ["hello", "\n"]


def test_the_loop_loads_neither_sdk_nor_mcp() -> None:
    program = (
        "import sys, harness.loop, harness.models.anthropic_model, harness.models.recovery; "
        "print([name for name in ('anthropic', 'mcp', 'httpx2', 'yaml', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
