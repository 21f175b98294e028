"""The window of the model as real agents come to know it: from the person, else from the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.context.gauge import UNKNOWN_WINDOW_TOKENS
from harness.loop import Incoming
from tests.support.subagents import delegating
from tests.support.teammate import team_beside_repository

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team
    from tests.support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("role", ["lead", "teammate"])]
SIZED = "window_tokens: 30000\nreply_tokens: 4000\n"


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    return team_beside_repository(tmp_path, clock)


@pytest.mark.parametrize(
    ("head", "given", "window", "reply"),
    [
        (SIZED, None, 30_000, 4000),
        (SIZED, 20_000, 20_000, 4000),
        ("", None, UNKNOWN_WINDOW_TOKENS, 8000),
    ],
)
async def test_the_person_counts_before_the_server_and_the_server_before_a_guess(
    role: str, team: Team, head: str, given: int | None, window: int, reply: int
) -> None:
    async with delegating(role, team, "  - say: Done.", head=head, window_tokens=given) as under:
        await under.agent.run([Incoming(text="Go.")])
        limits = under.agent._compactor._limits
        assert (limits.window_tokens, limits.reply_tokens) == (window, reply)


async def test_a_conversation_that_fills_the_window_of_the_server_is_summed_up(role: str, team: Team) -> None:
    rules = """
  - {when: {system: ^role=summary}, say: It was a long story.}
  - say: Go on.
"""
    async with delegating(role, team, rules, head=SIZED) as under:
        for number in range(6):
            await under.agent.run([Incoming(text=f"{number} " + "a long story " * 1800)])
        assert under.events("context_summarized")
        assert "It was a long story." in str(under.agent.messages[0])
