"""What the person changes of a proposed team is in force before its first member starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from coordination.errors import TeamError
from harness.settings.settings import settings_from
from orchestrator.lead.opening import Opened
from orchestrator.lead.parts import LeadParts
from orchestrator.lead.terms import Terms, propose
from orchestrator.proposal import render
from tests.support.people import leads
from tests.support.teammate import SETTINGS, opens_run, team_beside_repository
from workspace.git import Git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.clock import FakeClock

pytestmark = pytest.mark.anyio
PRICED = replace(SETTINGS, model_id="big", prices=("big 3 15",), team_max_usd=5.0)


@pytest.fixture
def parts(tmp_path: Path, clock: FakeClock) -> Iterator[LeadParts]:
    team = team_beside_repository(tmp_path, clock)
    stores = leads(team)
    opened = Opened(stores=stores, git=Git(team.repository), term=1, run=opens_run(stores))
    made = LeadParts(opened, PRICED)
    yield made
    made.wakeup.close()


@pytest.fixture
async def terms(parts: LeadParts) -> Terms:
    for name in ("ana", "ben"):
        await parts.host.spawn({"name": name})
    return Terms(parts)


def shown(parts: LeadParts) -> str:
    return render(propose(parts, [], parts.host.waiting))


async def test_one_member_or_all_get_another_model(parts: LeadParts, terms: Terms) -> None:
    await terms("model ana big-2")
    assert [member.model for member in await terms("model ben big-3")] == ["big-2", "big-3"]
    assert {member.model for member in await terms("model big-4")} == {"big-4"}
    assert [member.model for member in parts.stores.roster.all()] == ["big-4", "big-4"]
    assert "big-4 3 and 15" in shown(parts)


async def test_limits_hold_for_the_lead_and_go_to_members(parts: LeadParts, terms: Terms) -> None:
    await terms("limit team.max_turns 7")
    await terms("limit member.max_tokens 100000")
    assert "limits: member 100,000 tokens; team 7 turns, 5.0 usd" in shown(parts)
    assert parts.halts.limits.turns == 7
    handed = parts.supervisor.given["settings"]
    assert isinstance(handed, dict)
    assert settings_from(handed).limits("team").turns == 7
    await terms("limit team.max_turns none")
    assert "team 5.0 usd" in shown(parts)


async def test_what_is_agreed_stays_with_the_run(parts: LeadParts, terms: Terms) -> None:
    await terms("limit team.max_turns 7")
    await terms("limit task.max_turns 3")
    await terms("limit task.max_turns none")
    await terms("price small 1 2")
    kept = parts.stores.runs.get(parts.opened.run.id).agreed
    assert kept == {"limits.team.max_turns": "7", "prices": ["big 3 15", "small 1 2"]}


async def test_a_price_is_added_or_takes_the_place_of_the_one_there(parts: LeadParts, terms: Terms) -> None:
    await terms("price small 1 2")
    await terms("price big 4 20")
    assert parts.settings.prices == ("small 1 2", "big 4 20")
    await terms("model ana small")
    assert "small 1 and 2" in shown(parts)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("banana", "'banana' is no answer; a change is `model"),
        ("model", "'model' is no answer"),
        ("model zoe big", "there is no member zoe; known are: ana, ben"),
        ("model ana small", "needs the price of small; say `price small INPUT OUTPUT`"),
        ("price big three", "your answer: prices must be"),
        ("limit team.max_usd much", 'your answer: limits.team.max_usd must be a number above 0, not "much"'),
        ("limit team.max_usd -1", "must be a number above 0"),
        ("limit team.max_money 3", "there is no setting limits.team.max_money; did you mean"),
        ("limit run.max_usd none", "there is no setting limits.run.max_usd"),
        ("limit team.max_usd", "is no answer"),
    ],
)
async def test_what_is_wrong_with_a_change_is_said_and_nothing_is_changed(
    parts: LeadParts, terms: Terms, line: str, complaint: str
) -> None:
    before = shown(parts)
    with pytest.raises(TeamError) as caught:
        await terms(line)
    assert complaint in str(caught.value)
    assert shown(parts) == before
