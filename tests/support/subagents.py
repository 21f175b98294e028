"""Lead and teammate as they are really put together, whose model is a playbook, at work on a task."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.events import EventTail
from harness.journal import read
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from orchestrator.lead.opening import Opened
from orchestrator.lead.parts import LeadParts
from tests.support.people import leads
from tests.support.teammate import SETTINGS, TeammateUnderTest, opens_run, puts_up
from tests.support.tools import call
from workspace.git import Git

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from coordination.team_root import Team
    from harness.loop import Agent
    from harness.tool_pool import ToolPool

ALLOWED = replace(SETTINGS, allow=("bash",))


@dataclass(frozen=True, kw_only=True)
class Delegating:
    """An agent that has claimed a task, and may let sub-agents work."""

    team: Team
    who: str
    agent: Agent
    tree: Path
    task: str

    @property
    def pool(self) -> ToolPool:
        pool: ToolPool = self.agent._pool  # type: ignore[assignment]
        return pool

    async def delegates(self, *descriptions: str, **arguments: Any) -> list[dict[str, Any]]:
        """The results of as many calls for sub-agents in one reply."""
        return await self.pool.run([call("task", description=text, **arguments) for text in descriptions])

    async def report(self, description: str, **arguments: Any) -> str:
        """The result of one such call, as the model sees it."""
        [result] = await self.delegates(description, **arguments)
        return str(result["content"])

    def events(self, *actions: str) -> list[dict[str, Any]]:
        return [event for event in EventTail(self.team.directory).read_new() if event["action"] in actions]

    def journal(self) -> list[dict[str, Any]]:
        """What is on disk of the agent's own conversation."""
        return list(read(self.team.directory, layout.journal(self.who)))

    def transcript(self, number: int = 1) -> list[dict[str, Any]]:
        """What is on disk of the conversation of that sub-agent."""
        return list(read(self.team.directory, f".team/transcripts/{self.who}.sub-{number}.jsonl"))

    def texts(self, number: int = 1) -> str:
        """All results that the sub-agent saw."""
        results = [line["content"] for line in self.transcript(number) if line["kind"] == "tool_results"]
        return "\n".join(str(block["content"]) for blocks in results for block in blocks)


@asynccontextmanager
async def delegating(
    role: str, team: Team, rules: str, *, head: str = "", plan_required: bool = False, **settings: Any
) -> AsyncIterator[Delegating]:
    """`role` is lead or teammate; the task is the only one of a new run. `head` are lines of the playbook."""
    with ScriptedServer(Playbook.parse(f"format: 1\n{head}rules:\n{rules}")) as server:
        of_role = replace(ALLOWED, base_url=server.url, **settings)
        stores = leads(team)
        run = opens_run(stores)
        task = puts_up(stores, run, plan_required=plan_required).id
        if role == "teammate":
            alice = TeammateUnderTest(team, of_role)
            alice.teammate.keeper.start()
            await alice.takes_next()
            agent, tree = alice.worker._agent, alice.on.cwd()
            try:
                yield Delegating(team=team, who=alice.teammate.bearer, agent=agent, tree=tree, task=task)
            finally:
                await agent._model.close()
                alice.teammate.close("the test is over")
        else:
            parts = LeadParts(Opened(stores=stores, git=Git(team.repository), term=1, run=run), of_role)
            lead = parts.conversation(on_text=lambda _: None)
            await lead.work.claim(task)
            try:
                yield Delegating(team=team, who="lead~1", agent=lead.agent, tree=lead.work.cwd, task=task)
            finally:
                await lead.agent._model.close()
                parts.wakeup.close()
