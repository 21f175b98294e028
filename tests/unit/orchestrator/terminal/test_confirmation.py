"""Nobody is started before the person agreed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from coordination.records import Member, MemberState, Run
from harness.roles.catalog import RoleCatalog
from orchestrator.lead.terms import NoSuchChange
from orchestrator.proposal import Proposal
from orchestrator.terminal.confirmation import (
    ANSWERED,
    ASKED,
    Confirmation,
    Consent,
    NotConfirmed,
)
from tests.support.console import ScriptedConsole
from tests.support.people import a_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.records import Task

pytestmark = pytest.mark.anyio
TASKS = [a_task(1)]
TEAM = [Member(name=name, state=MemberState.STARTING) for name in ("alice", "bob", "carol")]


def propose(tasks: Sequence[Task], members: Sequence[Member]) -> Proposal:
    run = Run(id="run_00000001", goal="Fix the shop")
    return Proposal(
        run=run,
        tasks=tasks,
        members=members,
        every_task=(),
        max_workers=4,
        repository="/shop",
        roles=RoleCatalog(),
        sandbox="",
        limits={},
        prices={},
    )


async def change(line: str) -> Sequence[Member]:
    """Understands one change."""
    if line != "model Big-1":
        raise NoSuchChange(line=line)
    return [replace(member, model="Big-1") for member in TEAM]


async def agreed(console: ScriptedConsole, consent: Consent | None = None, *, working: int = 0) -> int:
    events: list[str] = []
    confirmation = Confirmation(
        console, consent or Consent(), propose, lambda action, **_: events.append(action), change
    )
    try:
        return await confirmation.ask(TASKS, TEAM, working=working)
    finally:
        assert events == ([ASKED, ANSWERED] if console.asked else [])


@pytest.mark.parametrize(
    ("answer", "members"), [("y", 3), ("yes", 3), ("YES", 3), ("2", 2), ("3", 3), ("1", 1)]
)
async def test_yes_starts_all_and_a_number_so_many(answer: str, members: int) -> None:
    console = ScriptedConsole(answer)
    assert await agreed(console) == members
    assert "proposed team for: Fix the shop" in console.shown[0]
    assert "a smaller number than 3" in console.asked[0]


@pytest.mark.parametrize("answer", ["", "n", "No"])
async def test_a_no_and_the_end_of_input_start_nobody(answer: str) -> None:
    with pytest.raises(NotConfirmed, match="you did not say yes"):
        await agreed(ScriptedConsole(answer))


@pytest.mark.parametrize("answer", ["-1", "sure", "yess", "1.5", "²", "banana"])
async def test_what_is_neither_yes_nor_no_is_asked_again(answer: str) -> None:
    console = ScriptedConsole(answer, "yes")
    assert await agreed(console) == 3
    assert len(console.asked) == 2
    first, complaint, again = console.shown
    assert complaint.startswith(f"{answer!r} is no answer; a change is `model")
    assert again == first


@pytest.mark.parametrize("answer", ["4", "0", "40"])
async def test_a_number_that_was_not_proposed_is_told_what_may_be_said(answer: str) -> None:
    console = ScriptedConsole(answer, "2")
    assert await agreed(console) == 2
    assert console.shown[1] == "3 are proposed, so say a number from 1 to 3, yes or no"


async def test_a_change_is_shown_before_the_next_answer() -> None:
    console = ScriptedConsole("model Big-1", "2")
    assert await agreed(console) == 2
    before, after = console.shown
    assert "Big-1" not in before
    assert after.count("Big-1") == len(TEAM)


async def test_a_yes_beforehand_is_shown_and_not_asked_for() -> None:
    console = ScriptedConsole()
    assert await agreed(console, Consent(yes=True)) == 3
    assert "alice" in console.shown[0]


async def test_a_number_beforehand_holds_even_where_nobody_can_be_asked() -> None:
    assert await agreed(ScriptedConsole(), Consent(workers=2, may_ask=False)) == 2


async def test_with_nobody_to_ask_the_proposal_is_printed_as_json_and_the_end_is_exit_code_3() -> None:
    console = ScriptedConsole()
    with pytest.raises(NotConfirmed, match="--yes or --workers N") as caught:
        await agreed(console, Consent(may_ask=False))
    assert caught.value.exit_code == 3
    assert [member["name"] for member in json.loads(console.shown[-1])["members"]] == [
        "alice",
        "bob",
        "carol",
    ]


async def test_a_program_gets_the_proposal_as_one_event() -> None:
    console = ScriptedConsole(as_json=True)
    with pytest.raises(NotConfirmed):
        await agreed(console, Consent(may_ask=False))
    (event,) = map(json.loads, console.shown)
    assert (event["action"], event["run"]) == ("proposal", "run_00000001")


@pytest.mark.parametrize(
    ("answer", "consent", "total"), [("yes", Consent(), 5), ("1", Consent(), 3), ("", Consent(yes=True), 5)]
)
async def test_a_yes_to_further_members_is_one_beside_those_that_work(
    answer: str, consent: Consent, total: int
) -> None:
    assert await agreed(ScriptedConsole(answer), consent, working=2) == total


async def test_a_number_beforehand_is_the_whole_team() -> None:
    assert await agreed(ScriptedConsole(), Consent(workers=4), working=2) == 4
