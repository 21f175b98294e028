"""Lead and teammate, put together as in a run, are judged alike (scenario S26)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_worker.compose import Teammate
from harness.hooks.configured import hooks_of
from orchestrator.lead.opening import Opened
from orchestrator.lead.parts import LeadParts
from tests.support.people import comes_alive, leads
from tests.support.teammate import SETTINGS, opens_run, puts_up, team_beside_repository
from tests.support.tools import call
from tests.unit.agent_worker.test_compose import TOOLS as TOOLS_OF_TEAMMATE
from tests.unit.orchestrator.lead.test_parts import TOOLS as TOOLS_OF_LEAD
from workspace.git import Git

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tool_pool import ToolPool
    from tests.support.clock import FakeClock

pytestmark = pytest.mark.anyio
GUARD = "grep -q 'find.*-delete' && { echo 'list first what would go' >&2; exit 2; } || exit 0"


async def tries(pool: ToolPool, command: str) -> str:
    [result] = await pool.run([call("bash", command=command)])
    return str(result["content"])


async def test_s26_a_hook_denies_lead_and_teammate_with_the_same_text(
    tmp_path: Path, clock: FakeClock
) -> None:
    team = team_beside_repository(tmp_path, clock)
    hooks = hooks_of({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": GUARD}]}]})
    settings = replace(SETTINGS, hooks=hooks, allow=("bash",))
    stores = leads(team)
    opened = Opened(stores=stores, git=Git(team.repository), term=1, run=opens_run(stores))
    parts = LeadParts(opened, settings)
    conversation = parts.conversation(on_text=lambda _: None)
    await conversation.work.claim(puts_up(stores, opened.run).id)
    alice = Teammate(team, comes_alive(team, "alice"), settings)
    alice.keeper.start()
    worker = alice.worker()
    puts_up(stores, opened.run)
    assert await worker._assignment.take_next()
    command = "mkdir -p x && touch x/y && find x -delete"
    texts = {await tries(pool, command) for pool in (conversation.agent._pool, worker._agent._pool)}  # type: ignore[arg-type]
    assert texts == {f"[hook/blocked] PreToolUse hook {GUARD!r}: list first what would go"}
    assert not (conversation.work.cwd / "x").exists()
    parts.wakeup.close()
    alice.close("the test is over")


def test_a_teammate_can_do_nothing_that_a_lead_cannot_but_submit_a_plan() -> None:  # T121
    assert set(TOOLS_OF_TEAMMATE) - set(TOOLS_OF_LEAD) == {"submit_plan"}
