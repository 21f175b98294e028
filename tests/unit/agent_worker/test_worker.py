"""A teammate's life around its agent: what it does first, and that it never forgets its own task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from coordination import layout
from coordination.mail.lines import NO_ANSWER
from coordination.protocols import answer_of
from coordination.records import Run, Status
from tests.support.model import FakeModel, calls, says
from tests.support.people import comes_alive, stores_of
from tests.support.teammate import TeammateUnderTest, puts_up
from workspace.desk import TurnNotOver

if TYPE_CHECKING:
    from coordination.stores import Stores
    from coordination.team_root import Team
    from harness.models.model import Reply

pytestmark = pytest.mark.anyio


def thinks(alice: TeammateUnderTest, *replies: Reply) -> FakeModel:
    """What her model says from now on."""
    model = FakeModel(*replies)
    alice.worker._agent._model = model
    return model


async def test_a_task_that_was_claimed_in_answer_to_mail_is_worked_on_before_any_other(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # W20
    wanted, other = puts_up(lead, run), puts_up(lead, run, "B", priority=0)
    lead.outbox.send("alice", "take A")
    claims = calls("claim_task", task_id=wanted.id)
    model = thinks(alice, claims, says("I have it."), calls("complete_task", summary="done"))
    assert await alice.worker._answer_mail()
    assert lead.tasks.get(wanted.id).owner == "alice"
    assert await alice.worker._work_next()
    briefing = str(model.requests[2].messages)
    assert wanted.id in briefing
    assert "take A" not in briefing
    assert lead.tasks.get(wanted.id).status is Status.COMPLETED
    assert lead.tasks.get(other.id).status is Status.PENDING
    assert alice.on.task is None


async def test_what_was_done_in_answer_to_mail_is_left_with_the_turn(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    wanted = puts_up(lead, run)
    lead.outbox.send("alice", "take A")
    thinks(alice, calls("claim_task", task_id=wanted.id), calls("complete_task", summary="done"))
    assert await alice.worker._answer_mail()
    assert lead.tasks.get(wanted.id).status is Status.COMPLETED
    assert alice.on.task is None


async def test_a_task_that_becomes_ready_is_claimed_and_begun_with_its_text(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T118
    assert not await alice.worker._work_next()
    task = puts_up(lead, run, "Round money", description="Half a cent is up.")
    model = thinks(alice, calls("complete_task", summary="done"))
    assert await alice.worker._work_next()
    [first] = model.requests[0].messages
    assert task.id in str(first)
    assert "Half a cent is up." in str(first)


async def test_no_other_task_is_claimed_before_the_turn_of_a_finished_one_is_over(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T45
    done, other = puts_up(lead, run), puts_up(lead, run, "B")
    await alice.on.claim(done.id)
    await alice.on.complete("done")
    with pytest.raises(TurnNotOver, match="end it before you claim another"):
        await alice.on.claim(other.id)
    await alice.on.leave()
    await alice.on.claim(other.id)
    assert lead.tasks.get(other.id).owner == "alice"


def asks(name: str) -> Reply:
    return calls("send_message", to=name, content="Which colour?")


def waiting_on(lead: Stores) -> str | None:
    member = lead.roster.member("alice")
    assert member
    return member.waiting_on


async def waits(lead: Stores, alice: TeammateUnderTest, for_what: str) -> None:
    """Until the roster says what she waits for."""
    pulse = alice.worker._pulse
    while waiting_on(lead) != for_what:
        await pulse.wait(pulse.count, 0.02)


@pytest.mark.parametrize(
    ("type", "text"), [("message", "Blue."), (NO_ANSWER, "bob is done with it, without an answer")]
)
async def test_who_asks_a_teammate_is_shown_to_wait_for_it_and_goes_on_with_the_answer_or_without(
    team: Team,
    lead: Stores,
    run: Run,
    alice: TeammateUnderTest,
    type: str,  # noqa: A002 - the word of the record
    text: str,
) -> None:
    bob = stores_of(team, comes_alive(team, "bob"))
    puts_up(lead, run, "Paint")
    model = thinks(alice, asks("bob"), says("I wait."), calls("complete_task", summary="done"))
    async with anyio.create_task_group() as group:
        group.start_soon(alice.worker._work_next)
        await waits(lead, alice, "an answer of bob")
        bob.outbox.send("alice", text, type=type)
        alice.worker._pulse.ring()
    assert len(model.requests) == 3
    heard = str(model.requests[2].messages[-1])
    assert (f'type="{type}"' in heard, text in heard) == (True, True)
    assert waiting_on(lead) is None
    assert not await alice.worker._answer_mail()


@pytest.mark.parametrize(
    "replies", [[says("Blue.")], [asks("bob"), says("Blue.")], [asks("carol"), says("Soon.")]]
)
async def test_a_teammate_is_told_that_its_question_was_left_but_not_while_an_answer_may_come(
    team: Team, alice: TeammateUnderTest, replies: list[Reply]
) -> None:
    bob = stores_of(team, comes_alive(team, "bob"))
    comes_alive(team, "carol")
    bob.outbox.send("alice", "Which colour?")
    thinks(alice, *replies)
    assert await alice.worker._answer_mail()
    await alice.worker._asking.settle_up()
    await alice.worker._asking.settle_up()
    path = team.root / layout.sent("bob", "alice~2")
    told = path.read_text(encoding="utf-8").count(NO_ANSWER) if path.exists() else 0
    assert told == (1 if len(replies) == 1 else 0)


async def test_who_is_asked_may_leave_and_nobody_waits_any_more(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    bob = comes_alive(team, "bob")
    puts_up(lead, run, "Paint")
    model = thinks(alice, asks("bob"), says("I wait."), calls("complete_task", summary="done"))
    async with anyio.create_task_group() as group:
        group.start_soon(alice.worker._work_next)
        await waits(lead, alice, "an answer of bob")
        lead.roster.closing("bob", bob.incarnation or 0)
        alice.worker._pulse.ring()
    assert "[Still open]" in str(model.requests[2].messages[-1])


async def test_two_that_would_wait_for_each_other_are_told_and_so_is_the_lead(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    bob = comes_alive(team, "bob")
    lead.roster.update("bob", bob.incarnation, waiting_on=answer_of("alice"))
    puts_up(lead, run, "Paint")
    model = thinks(alice, asks("bob"), says("I wait."), calls("complete_task", summary="done"))
    await alice.worker._work_next()
    assert "[You would wait for each other] alice > bob > alice" in str(model.requests[2].messages[-1])
    told = "alice > bob > alice would wait for answers of each other; alice goes on without"
    assert ("waits_in_circle", told) in alice.told_lead()
