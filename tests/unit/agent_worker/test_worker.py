"""A teammate's life around its agent: what it does first, and that it never forgets its own task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.records import Run, Status
from tests.support.model import FakeModel, calls, says
from tests.support.teammate import TeammateUnderTest, puts_up
from workspace.desk import TurnNotOver

if TYPE_CHECKING:
    from coordination.stores import Stores
    from harness.model import Reply

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
