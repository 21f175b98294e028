"""Sub-agents of a real lead and teammate, over a real socket: isolated, bounded, behind the same gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from coordination.fsck.fsck import inspect
from coordination.protocols import PERSON
from coordination.stores import open_stores
from harness.context.conversation import Conversation
from harness.hooks.configured import hooks_of
from harness.models.ledger import Ledger
from harness.models.prices import PriceTable
from tests.support.mcp import until
from tests.support.subagents import delegating
from tests.support.teammate import team_beside_repository
from tests.support.tools import call

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("role", ["lead", "teammate"])]
SAYS = "  - say: It is in a.py."
WRITES = """
  - when: {tools_called: ^$}
    call: {write_file: {path: b.py, content: 'B = 1'}}
  - say: Written.
"""


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    return team_beside_repository(tmp_path, clock)


def runs(command: str) -> str:
    """A sub-agent that runs one command and says what came of it."""
    return f"""
  - when: {{tools_called: ^$}}
    call: {{bash: {{command: "{command}"}}}}
  - when: {{last_result: '(?P<all>.*)'}}
    say: 'came to: ${{all}}'
"""


def reads(path: str) -> str:
    return f"""
  - when: {{tools_called: ^$}}
    call: {{read_file: {{path: {path}}}}}
  - say: Read.
"""


# what it is and knows


async def test_t108_it_starts_with_its_own_prompt_alone_and_its_last_text_comes_back(
    role: str, team: Team
) -> None:
    async with delegating(role, team, SAYS) as under:
        await under.agent.begin("a conversation of its own")
        assert await under.report("Where is A?") == "It is in a.py."
        begin, asked, answer = under.transcript()
        assert (begin["kind"], "messages" in begin) == ("conversation", False)
        assert (asked["kind"], asked["text"]) == ("user", "Where is A?")
        assert answer["content"] == [{"type": "text", "text": "It is in a.py."}]
        assert under.agent.messages == []


@pytest.mark.parametrize(
    ("kind", "tools"),
    [
        ({}, "bash, read_file, write_file, edit_file, glob, grep"),
        ({"kind": "general"}, "bash, read_file, write_file, edit_file, glob, grep"),
        ({"kind": "read_only"}, "read_file, glob, grep"),
    ],
)
async def test_each_kind_has_exactly_these_tools_and_none_can_start_another(
    role: str, team: Team, kind: dict[str, str], tools: str
) -> None:
    rules = """
  - when: {tools_called: ^$}
    call: {task: {description: go on}}
  - when: {system: '^role=subagent name=\\w+ task=task_\\w+\\n.*# Tools\\n(?P<tools>[^\\n]+)'}
    say: ${tools}
"""
    async with delegating(role, team, rules) as under:
        assert await under.report("Start another.", **kind) == tools
        assert "[schema/unknown_tool]" in under.texts()


async def test_t108_its_file_tools_stay_inside_the_directory(role: str, team: Team) -> None:
    async with delegating(role, team, reads("../../a.py")) as under:
        await under.report("Look outside.")
        assert "is outside the working directory" in under.texts()


async def test_t101_t102_blocks_decide_whether_it_goes_on(role: str, team: Team) -> None:
    rules = """
  - when: {tools_called: ^$}
    call: {glob: {pattern: '*'}}
    stop_reason: end_turn
  - say: Done.
    stop_reason: tool_use
"""
    async with delegating(role, team, rules) as under:
        assert await under.report("Look.") == "Done."
        assert [line["kind"] for line in under.transcript()].count("assistant") == 2


async def test_after_thirty_rounds_its_last_text_is_marked_as_cut(role: str, team: Team) -> None:
    rules = """
  - say: Still looking.
    call: {glob: {pattern: '*'}}
"""
    async with delegating(role, team, rules) as under:
        said = await under.report("Look for ever.")
        assert said == "[cut after 30 model calls, so the work may be unfinished] Still looking."
        assert len(under.events("model_call")) == 30


async def test_without_a_text_the_result_says_so(role: str, team: Team) -> None:
    async with delegating(role, team, "  - say: ' '") as under:
        assert await under.report("Say nothing.") == (
            "the sub-agent ended without a report; look yourself at what it did, if anything"
        )


# the same directory and gates


async def test_it_works_in_the_tree_of_the_caller(role: str, team: Team) -> None:  # W41
    async with delegating(role, team, WRITES) as under:
        assert await under.report("Write b.py.") == "Written."
        assert (under.tree / "b.py").read_text() == "B = 1"
        assert not (team.repository / "b.py").exists()


async def test_a_tree_that_is_gone_is_refused_to_it_as_to_the_caller(role: str, team: Team) -> None:
    async with delegating(role, team, WRITES) as under:
        under.tree.rename(under.tree.with_name("elsewhere"))
        assert (await under.report("Write b.py.")).startswith("[lease/")


async def test_a_rule_that_denies_reading_holds_for_it_also_by_search_and_shell(  # S30
    role: str, team: Team
) -> None:
    rules = """
  - when: {tools_called: ^$}
    call:
      - read_file: {path: .env}
      - grep: {pattern: SECRET}
      - bash: {command: cat .env}
  - say: Not found.
"""
    async with delegating(role, team, rules, deny=("read_file(.env)",)) as under:
        (under.tree / ".env").write_text("SECRET=x1y2\n")
        await under.report("Find the secret.")
        assert under.texts().count("[permission/denied]") == 2
        assert "x1y2" not in under.texts()


async def test_s26_a_hook_denies_it_what_it_denies_its_caller_in_the_same_words(
    role: str, team: Team
) -> None:
    guard = "grep -q 'find.*-delete' && { echo 'list first what would go' >&2; exit 2; } || exit 0"
    hooks = hooks_of({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": guard}]}]})
    command = "mkdir -p x && touch x/y && find x -delete"
    async with delegating(role, team, runs(command), hooks=hooks) as under:
        [own] = await under.pool.run([call("bash", command=command)])
        assert await under.report("Clear x.") == f"came to: {own['content']}"
        assert "[hook/blocked]" in own["content"]


async def test_a_hook_knows_the_call_for_one_by_its_usual_name_and_fields(role: str, team: Team) -> None:
    same = "grep -q 'subagent_type.*read_only' && { echo not today >&2; exit 2; } || exit 0"
    hooks = hooks_of({"PreToolUse": [{"matcher": "Task", "hooks": [{"type": "command", "command": same}]}]})
    async with delegating(role, team, SAYS, hooks=hooks) as under:
        assert "not today" in await under.report("Where is A?", kind="read_only")
        assert await under.report("Where is A?") == "It is in a.py."


async def test_what_it_read_from_elsewhere_marks_the_conversation_of_the_caller(
    role: str, team: Team
) -> None:
    command = "curl -s http://127.0.0.1:9/page; true"
    async with delegating(role, team, runs(command)) as under:
        reply = [call("task", description="Fetch the page.")]
        await under.pool.run(reply)
        [mark] = [line for line in under.journal() if line["kind"] == "mark"]
        assert mark["untrusted"] == under.agent.conversation.brought == f"the output of {command!r}"
        results = [line["kind"] for line in under.transcript()]
        assert results.index("mark") < results.index("tool_results")  # before it saw the page


async def test_a_mark_of_it_is_on_disk_while_it_still_works(role: str, team: Team, tmp_path: Path) -> None:
    command = f"curl -s http://127.0.0.1:9/; until [ -e {tmp_path}/go ]; do sleep 0.02; done"
    async with delegating(role, team, runs(command)) as under, anyio.create_task_group() as group:
        group.start_soon(under.report, "Fetch the page.")
        await until(lambda: any(line["kind"] == "mark" for line in under.journal()))
        left = Conversation.of(under.journal())  # as after `kill -9` at this moment
        (tmp_path / "go").touch()
        assert left.brought.startswith("the output of 'curl")


async def test_a_mark_of_the_caller_holds_for_it_from_the_start(role: str, team: Team) -> None:
    async with delegating(role, team, runs("curl -s http://127.0.0.1:9/")) as under:
        under.agent.conversation.untrusted = "a page"
        assert "[permission/nobody_to_ask]" in await under.report("Send it out.")
        assert under.agent.conversation.brought == ""  # nothing new


# recovery, use, interruption


async def test_a_passing_overload_is_waited_out(role: str, team: Team) -> None:
    rules = "  - {fault: rate_limited, times: 2}\n" + SAYS
    async with delegating(role, team, rules) as under:
        assert await under.report("Where is A?") == "It is in a.py."


async def test_without_any_reply_the_call_is_an_error_that_says_why(role: str, team: Team) -> None:
    async with delegating(role, team, "  - fault: spend_limit") as under:
        said = await under.report("Where is A?")
        assert said.startswith("[run/gave_up] the sub-agent came to no end: the spend limit")


async def test_its_use_counts_for_the_caller_and_its_task(role: str, team: Team) -> None:
    async with delegating(role, team, WRITES) as under:
        await under.report("Write b.py.")
        run = under.events("model_call")[0]["run"]
        ledger = Ledger(team.directory, PriceTable([]), run=run)
        ledger.refresh()
        member = under.who.partition("~")[0]
        assert ledger.usage["member", member].calls == ledger.usage["task", under.task].calls == 2
        assert {event["subagent"] for event in under.events("model_call")} == {"sub-1"}


async def test_a_limit_of_the_task_stops_it_too(role: str, team: Team) -> None:
    rules = "  - call: {glob: {pattern: '*'}}"
    async with delegating(role, team, rules, task_max_turns=3, member_max_turns=3) as under:
        assert "max_turns 3" in await under.report("Look for ever.")
        assert len(under.events("model_call")) == 3


async def test_an_interrupt_ends_it_and_the_command_that_it_runs(role: str, team: Team) -> None:
    async with (
        delegating(role, team, runs("touch began; sleep 600")) as under,
        anyio.create_task_group() as group,
    ):

        async def interrupt() -> None:
            await until((under.tree / "began").exists)
            under.pool.interrupt()

        group.start_soon(interrupt)
        assert (await under.report("Wait.")).startswith("[run/interrupted]")
        (ended,) = under.events("subagent_ended")
        assert ended["ended"] == "cancelled"


# several at once

RENDEZVOUS = """
  - when: {tools_called: ^$, last_user: 'be (?P<me>\\w+), wait for (?P<other>\\w+)'}
    call: {bash: {command: 'touch ${me}; until [ -e ${other} ]; do sleep 0.05; done', timeout: 30}}
  - when: {last_user: 'be (?P<me>\\w+)'}
    say: ${me} has met the other.
"""


async def test_several_in_one_reply_work_side_by_side(role: str, team: Team) -> None:
    async with delegating(role, team, RENDEZVOUS) as under:
        results = await under.delegates("be x, wait for y", "be y, wait for x")
        assert [result["content"] for result in results] == ["x has met the other.", "y has met the other."]
        assert len(under.transcript(1)) == len(under.transcript(2)) == 5


async def test_no_more_work_at_once_than_the_setting_says(role: str, team: Team) -> None:
    async with delegating(role, team, SAYS, subagent_parallel=1) as under:
        await under.delegates("one", "two", "three")
        seen = under.events("subagent_started", "subagent_ended")
        assert [event["subagent"] for event in seen] == [f"sub-{n}" for n in (1, 1, 2, 2, 3, 3)]


async def test_while_the_team_rests_it_calls_no_model(role: str, team: Team) -> None:
    async with delegating(role, team, SAYS) as under, anyio.create_task_group() as group:
        pauses = open_stores(team, PERSON).pauses
        pauses.say(paused=True)
        group.start_soon(under.report, "Where is A?")
        await until(lambda: under.events("subagent_started"))
        assert not under.events("model_call")
        pauses.say(paused=False)


async def test_what_it_leaves_behind_is_nothing_to_mend(role: str, team: Team) -> None:
    async with delegating(role, team, WRITES) as under:
        await under.report("Write b.py.")
        assert not [found for found in inspect(open_stores(team, PERSON)) if "sub-1" in found.where]
