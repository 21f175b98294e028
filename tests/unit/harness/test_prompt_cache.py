"""Cache hits, as a server sees them over a real socket, byte for byte."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from harness.journal import read
from harness.loop import Incoming
from harness.models.anthropic_model import AnthropicModel
from harness.models.endpoint import Endpoint
from harness.scripted.cache import PromptCache
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from tests.support.model import JOURNAL, AgentUnderTest, FakePool

if TYPE_CHECKING:
    from coordination.team_root import Team
    from harness.loop import Agent

PLAYBOOK = Playbook.parse("""
format: 1
rules:
- {when: {tools_called: '^(look ){19}look$'}, say: done}
- {when: {last_user: go}, say: I look again., call: {look: {}}}
""")
MARK = {"type": "ephemeral"}


def text(words: str, *, marked: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": words}
    return block | {"cache_control": MARK} if marked else block


def usages(team: Team) -> list[dict[str, int]]:
    return [line["usage"] for line in read(team.directory, JOURNAL) if line["kind"] == "assistant"]


def agent_on(server: ScriptedServer, team: Team) -> Agent:
    model = AnthropicModel(Endpoint(address=server.url, api_key="k"))
    under = AgentUnderTest(team, model, FakePool())
    under.agent._system = lambda: "role=teammate name=alice task=none\n" + "rule\n" * 500
    return under.agent


@pytest.mark.anyio
async def test_over_twenty_turns_each_reads_from_the_cache_all_that_the_one_before_sent(team: Team) -> None:
    with ScriptedServer(PLAYBOOK) as server:
        agent = agent_on(server, team)
        assert (await agent.run([Incoming(text="go")])).rounds == 21
        await agent._model.close()
    used = usages(team)
    assert used[0]["cache_read_tokens"] == 0
    for before, now in pairwise(used):
        sent = before["cache_read_tokens"] + before["cache_write_tokens"] + before["input_tokens"]
        assert now["cache_read_tokens"] == sent
        assert now["cache_write_tokens"] < 100
        assert now["input_tokens"] == 0


@pytest.mark.anyio
async def test_a_changing_system_prompt_would_be_seen(team: Team) -> None:
    with ScriptedServer(PLAYBOOK) as server:
        agent = agent_on(server, team)
        clock = iter(range(100))
        agent._system = lambda: f"it is {next(clock)} o'clock"
        await agent.run([Incoming(text="go")])
        await agent._model.close()
    assert {used["cache_read_tokens"] for used in usages(team)} == {0}


def test_only_what_was_marked_before_is_read_and_only_near_a_mark() -> None:
    cache = PromptCache()
    first = {"messages": [{"role": "user", "content": [text("a" * 400, marked=True)]}]}
    assert cache.usage(first).cache_write_tokens > 100
    again = cache.usage(first)
    assert (again.cache_read_tokens > 100, again.cache_write_tokens) == (True, 0)
    far = [text("a" * 400), *(text(f"{n}") for n in range(25)), text("end", marked=True)]
    assert cache.usage({"messages": [{"role": "user", "content": far}]}).cache_read_tokens == 0
    unmarked = {"messages": [{"role": "user", "content": "new"}]}
    assert cache.usage(unmarked).input_tokens > 0
    assert cache.usage(unmarked).cache_read_tokens == 0
