"""Room in the window, as an agent makes it in the middle of its work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordination.usage import Usage
from harness.context.conversation import Conversation
from harness.context.gauge import ContextLimits
from harness.context.messages import fault, text_of
from harness.context.resume import left_behind
from harness.journal import Journal, read
from harness.loop import Incoming
from harness.models.model import Capacity, ImproperEnd, PromptTooLong, Reply
from harness.tools.compact import compact_tool
from harness.turn import Ended
from tests.support.model import JOURNAL, AgentUnderTest, FakeModel, FakePool, calls, says
from tests.support.tools import noted_tool, pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordination.team_root import Team
    from harness.models.model import ModelRequest, ToolUse

pytestmark = pytest.mark.anyio
GO = [Incoming(text="rename Foo to Bar")]
SMALL = ContextLimits(window_tokens=10_000, reply_tokens=1000)


class LongPool(FakePool):
    """Every result is long, and begins with its own number."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self._characters = characters

    async def run(self, calls: Sequence[ToolUse], /) -> list[dict[str, Any]]:
        results = await super().run(calls)
        return [
            {**result, "content": f"result {len(self.ran)} ".ljust(self._characters, "x")}
            for result in results
        ]


class AnswersSummaries(FakeModel):
    """Sums up whenever it is asked to, beside what is in its list."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        if request.system.startswith("role=summary"):
            return says("a summary")
        return await super().reply(request, on_text)


def used(reply: Reply, tokens: int) -> Reply:
    """The reply as a server sent it that had read so many tokens, most of them from its cache."""
    usage = Usage(calls=1, input_tokens=100, cache_read_tokens=tokens - 100, output_tokens=10)
    return Reply(content=reply.content, stop_reason=reply.stop_reason, usage=usage)


def steps(team: Team) -> list[str]:
    """How the history became shorter."""
    return [line["step"] for line in read(team.directory, JOURNAL) if line["kind"] == "context"]


def shown(under: AgentUnderTest, number: int) -> str:
    return str(under.model.requests[number].messages)


def kept(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


async def test_a_small_conversation_is_sent_as_it_is(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(calls("look"), says("done")), limits=SMALL)
    await under.agent.run(GO)
    assert [line["kind"] for line in read(team.directory, JOURNAL)].count("context") == 0
    assert under.model.counted == []


async def test_new_results_beyond_their_share_go_to_files_that_the_model_is_told(team: Team) -> None:
    model = FakeModel(calls("look", "look", "look"), says("done"))
    limits = ContextLimits(new_results_characters=20_000)
    under = AgentUnderTest(team, model, LongPool(15_000), limits=limits)
    await under.agent.run(GO)
    results = under.model.requests[1].messages[-1]["content"]
    assert [len(text_of(result)) > 10_000 for result in results].count(True) == 1
    cut = next(result for result in results if "[the whole result is in " in text_of(result))
    assert len(kept(text_of(cut).rpartition("[the whole result is in ")[2].rstrip("]"))) == 15_000


async def test_what_was_measured_decides_not_the_characters(team: Team) -> None:
    replies = [used(calls("look"), 9000), says("a summary"), says("done")]
    under = AgentUnderTest(team, FakeModel(*replies), limits=SMALL)
    await under.agent.run(GO)
    assert "[Compacted]" in shown(under, 2)


async def test_consumed_results_give_way_before_anything_is_summed_up(team: Team) -> None:
    replies = [used(calls("look"), 1000 + 750 * n) for n in range(8)]
    under = AgentUnderTest(team, FakeModel(*replies, says("done")), LongPool(3000), limits=SMALL)
    await under.agent.run(GO)
    last = under.model.requests[-1].messages
    assert fault(last) is None
    assert "was left out]" in str(last)
    assert "[Compacted]" not in str(last)
    assert [event["step"] for event in under.events.lines if event["action"] == "context_shortened"]


async def test_after_a_summary_the_model_sees_what_was_lost_where_and_how_things_stand(team: Team) -> None:
    model = FakeModel(used(calls("look"), 8500), used(says("I looked at x.py"), 50), says("done"))
    under = AgentUnderTest(team, model, limits=SMALL, state="your task: task_1")
    await under.agent.run(GO)
    begin = text_of(under.model.requests[2].messages[0]["content"][0])
    assert '"I looked at x.py"' in begin
    assert "your task: task_1" in begin
    where = begin.partition("its whole text is in ")[2].partition(" (read it")[0]
    assert "rename Foo to Bar" in kept(where)
    assert under.model.requests[2].messages[1]["content"][0]["type"] == "tool_use"  # the newest part is whole


async def test_the_one_who_sums_up_has_no_tools_and_no_role_of_the_team(team: Team) -> None:
    under = AgentUnderTest(team, FakeModel(used(calls("look"), 8500), says("s"), says("done")), limits=SMALL)
    await under.agent.run(GO)
    asked = under.model.requests[1]
    assert asked.tools == []
    assert asked.system.startswith("role=summary name=alice task=")


async def test_without_a_summary_the_work_goes_on_with_the_file(team: Team) -> None:
    model = FakeModel(used(calls("look"), 8500), ImproperEnd(cause="cut"), says("done"))
    under = AgentUnderTest(team, model, limits=SMALL)
    assert (await under.agent.run(GO)).ended is Ended.DONE
    assert "could not be made; read the file" in shown(under, 2)


async def test_a_prompt_that_the_server_finds_too_long_is_made_shorter_once(team: Team) -> None:
    model = FakeModel(calls("look"), PromptTooLong(cause="210000 > 200000"), says("a summary"), says("done"))
    under = AgentUnderTest(team, model)
    assert (await under.agent.run(GO)).text == "done"
    assert "[Compacted]" in shown(under, 3)


async def test_a_prompt_that_stays_too_long_ends_the_turn(team: Team) -> None:
    too_long = PromptTooLong(cause="210000 > 200000")
    under = AgentUnderTest(team, FakeModel(calls("look"), too_long, says("a summary"), too_long))
    outcome = await under.agent.run(GO)
    assert (outcome.ended, outcome.error) == (Ended.GAVE_UP, too_long)


async def test_a_full_window_at_the_end_of_a_reply_is_summed_up_and_gone_on_from(team: Team) -> None:
    full = says("half", stop_reason="model_context_window_exceeded")
    under = AgentUnderTest(team, FakeModel(calls("look"), full, says("a summary"), says("and done")))
    assert (await under.agent.run(GO)).text == "and done"
    assert "[Compacted]" in shown(under, 3)


async def test_a_call_for_a_summary_is_heeded_after_all_calls_of_the_reply(  # S45, T130
    team: Team, tmp_path: Path
) -> None:
    async def ask(focus: str) -> None:
        await under.agent.compact(focus)

    call = calls("compact", focus="open tasks")
    asked = Reply(content=[*call.content, *calls("look").content], stop_reason="tool_use", usage=call.usage)
    tools = pool([compact_tool(ask), noted_tool([], "look")], tmp_path)
    under = AgentUnderTest(team, FakeModel(calls("look"), asked, says("a summary"), says("done")), tools)
    await under.agent.run(GO)
    assert "The agent wants this kept above all: open tasks" in shown(under, 2)
    last = under.model.requests[3].messages
    assert fault(last) is None
    assert [block["content"].split()[-1] for block in last[-1]["content"]] == ["file", "noted"]
    assert shown(under, 3).count("[Compacted]") == 1
    assert steps(team) == ["summary"]


@pytest.mark.parametrize(("goes_on", "summaries"), [(True, 1), (False, 0)])
async def test_a_summary_asked_of_a_process_before_it_goes_on_is_made_and_none_of_a_new_conversation(
    team: Team, *, goes_on: bool, summaries: int
) -> None:
    left = Conversation.of(
        [{"kind": "user", "text": "a"}, {"kind": "assistant", "content": says("b").content}]
    )
    under = AgentUnderTest(team, AnswersSummaries(calls("look"), says("done")))
    await under.agent.compact("the port")
    await (under.agent.go_on(left) if goes_on else under.agent.begin("another task"))
    await under.agent.run(GO)
    assert steps(team) == ["summary"] * summaries


async def test_a_summary_that_was_asked_for_is_made_by_whoever_goes_on(team: Team) -> None:
    died = AgentUnderTest(team, FakeModel(calls("look"), says("looked")))
    await died.agent.run(GO)
    for focus in ("open tasks", "", "the port"):
        await died.agent.compact(focus)
    left = Conversation.of(read(team.directory, JOURNAL))
    (team.root / JOURNAL).unlink()
    under = AgentUnderTest(team, FakeModel(says("a summary"), says("done"), says("and more")))
    await under.agent.go_on(left)
    await under.agent.run([Incoming(text="go on")])
    assert "kept above all: open tasks; the port" in shown(under, 0)
    assert "[Compacted]" in shown(under, 1)
    await under.agent.run([Incoming(text="once only")])
    assert steps(team) == ["summary"]
    assert not Conversation.of(read(team.directory, JOURNAL)).summary_asked


@pytest.mark.parametrize(("characters", "summaries"), [(100, 1), (5000, 8)])
async def test_a_window_that_prompt_and_tools_fill_is_not_summed_up_each_time(
    team: Team, characters: int, summaries: int
) -> None:
    full = [used(calls("look"), 7300) for _ in range(8)]
    model = AnswersSummaries(*full, says("done"))
    under = AgentUnderTest(team, model, LongPool(characters), limits=SMALL)
    await under.agent.run(GO)
    assert steps(team).count("summary") == summaries


async def test_the_middle_of_a_very_long_history_is_left_out_with_a_note(team: Team) -> None:
    limits = ContextLimits(window_tokens=10_000, reply_tokens=1000, kept_messages=10, summarize_percent=100)
    replies = [used(calls("look"), 4000 + 100 * n) for n in range(20)]
    under = AgentUnderTest(team, FakeModel(*replies, says("done")), limits=limits)
    await under.agent.run(GO)
    assert "messages were left out here; their whole text is in" in shown(under, -1)
    assert "rename Foo to Bar" in shown(under, -1)


async def test_the_server_counts_where_nothing_is_measured_and_a_guess_would_not_do(team: Team) -> None:
    model = FakeModel(says("a summary"), says("done"))
    model.counts = 8900
    under = AgentUnderTest(team, model, limits=SMALL)
    under.agent.conversation = Conversation.of(
        [{"kind": "user", "text": "a" * 15_000}, {"kind": "assistant", "content": calls("look").content}]
    )
    await under.agent.run(GO)
    assert len(under.model.counted) == 1
    assert "[Compacted]" in shown(under, 1)


async def test_a_stored_turn_with_a_blank_text_is_gone_on_with(team: Team) -> None:  # S46
    call = calls("look").content
    result = {"type": "tool_result", "tool_use_id": call[0]["id"], "content": ""}
    journal = Journal(team.directory, JOURNAL, team.clock)
    journal.append("user", text="Make the folder.")
    journal.append("assistant", content=[{"type": "text", "text": ""}, *call])
    journal.append("tool_results", content=[result])
    journal.append("assistant", content=[{"type": "text", "text": ""}])
    left = left_behind(team.directory, "alice~7", 1 << 20, path_of=lambda _: JOURNAL)
    under = AgentUnderTest(team, FakeModel(says("Done.")))
    await under.agent.go_on(left)
    assert (await under.agent.run([Incoming(text="Next file.")])).text == "Done."
    assert under.texts_of_request(0) == ["Make the folder.", "Next file."]


async def test_a_restart_has_the_same_history_that_the_model_saw(team: Team) -> None:
    replies = [used(calls("look"), 1000 + 750 * n) for n in range(12)]
    model = FakeModel(*replies[:10], says("a summary"), *replies[:2], says("done"))
    under = AgentUnderTest(team, model, LongPool(3000), limits=SMALL)
    await under.agent.run(GO)
    assert "[Compacted]" in str(under.agent.messages)
    again = Conversation.of(read(team.directory, JOURNAL))
    assert again.messages == under.agent.messages
    assert again.requests == ["rename Foo to Bar"]
    assert again.characters == under.agent.conversation.characters


# the size of the model


async def test_the_thresholds_follow_the_window_that_the_server_tells_asked_once(team: Team) -> None:
    model = FakeModel(used(calls("look"), 8500), says("a summary"), calls("look"), says("done"))
    model.capacities["scripted"] = Capacity(window_tokens=10_000)
    limits = ContextLimits(reply_tokens=1000)
    under = AgentUnderTest(team, model, limits=limits)
    await under.agent.run(GO)
    assert "[Compacted]" in shown(under, 2)
    assert model.asked_about == ["scripted"]


async def test_the_window_that_the_person_gives_counts_before_that_of_the_server(team: Team) -> None:
    model = FakeModel(used(calls("look"), 8500), says("done"))
    model.capacities["scripted"] = Capacity(window_tokens=10_000)
    under = AgentUnderTest(team, model, limits=ContextLimits(window_tokens=100_000))
    await under.agent.run(GO)
    assert len(model.requests) == 2


async def test_replies_and_summaries_fit_into_a_small_window(team: Team) -> None:
    model = FakeModel(used(calls("look"), 3000), says("a summary"), says("done"))
    model.capacities["scripted"] = Capacity(window_tokens=4000, reply_tokens=1500)
    limits = ContextLimits()
    under = AgentUnderTest(team, model, LongPool(30_000), limits=limits, max_tokens=8000)
    await under.agent.run([Incoming(text="rename Foo " * 1000)])
    assert [request.max_tokens for request in model.requests] == [1000, 1000, 1000]
    asked_for_a_summary = model.requests[1]
    assert len(str(asked_for_a_summary.messages)) + len(asked_for_a_summary.system) < 4 * (4000 - 1000)


@pytest.mark.parametrize("window", [4000, 8192, 32_000, 200_000, 1_000_000])
@pytest.mark.parametrize("reply", [None, 4096, 64_000])
def test_three_quarters_of_every_window_at_least_are_for_the_request(window: int, reply: int | None) -> None:
    told = Capacity(window_tokens=window, reply_tokens=reply)
    limits = ContextLimits(reply_tokens=60_000).fitting(told)
    assert limits.room >= window * 3 // 4
    assert limits.reply_tokens == min(60_000, reply or window, window // 4)
    assert limits.summary_tokens <= limits.reply_tokens
