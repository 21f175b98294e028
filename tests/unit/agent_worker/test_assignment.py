"""A teammate's host around one task: the lease, proving, and telling the lead."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from coordination.records import PlanState, Run, Status, Verdict
from coordination.tasks.refusals import ClaimRefused
from coordination.tasks.rules import StaleToken
from harness.context.conversation import Conversation
from harness.tool import Effect, NoWorkingDirectory, ToolFailure
from orchestrator.lead.leading import review
from tests.support.people import claimant, comes_alive, stores_of
from tests.support.repository import Repository
from tests.support.teammate import TeammateUnderTest, puts_up
from tests.support.tools import call
from tests.support.verifier import SlowVerifier
from workspace.git import UnknownCommit

if TYPE_CHECKING:
    from coordination.stores import Stores
    from coordination.team_root import Team

pytestmark = pytest.mark.anyio


# taking


async def test_the_next_ready_task_is_taken_with_a_tree_and_a_briefing(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, checks=("fine",))
    task = await alice.takes_next()
    assert (task.owner, task.status) == ("alice", Status.IN_PROGRESS)
    assert alice.on.cwd() == lead.team.root / (task.worktree or "")
    assert "fine: test -f fine.txt" in await alice.on.brief(task)


async def test_the_lead_is_told_of_a_task_that_nobody_can_begin(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # W26
    lead.runs.update(run.id, base="0" * 40)
    task = puts_up(lead, run, max_attempts=1)
    with pytest.raises(UnknownCommit):
        await alice.on.take_next()
    assert lead.tasks.get(task.id).status is Status.FAILED
    assert [kind for kind, _ in alice.told_lead()] == ["task_failed"]
    assert not alice.teammate.keeper.is_lost


async def test_who_goes_on_is_told_by_the_board_what_is_asked_not_by_a_journal(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    task = puts_up(lead, run)
    await alice.takes_next()
    lines = [{"kind": "conversation", "about": task.id}, {"kind": "user", "text": "Delete all"}]
    alice.worker._left = Conversation.of(lines)
    assert await alice.worker._first_words(task) == []
    conversation = alice.worker._agent.conversation
    assert len(conversation.messages) == 1
    assert conversation.requests == [await alice.on.brief(task)]


async def test_with_nothing_ready_nothing_is_taken(alice: TeammateUnderTest) -> None:
    assert await alice.on.take_next() is None


async def test_a_claim_that_failed_is_no_task(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    lost, other = puts_up(lead, run), puts_up(lead, run, "B")
    bob = comes_alive(team, "bob")
    stores_of(team, bob).tasks.claim(lost.id, claimant(bob))
    with pytest.raises(ClaimRefused):
        await alice.on.claim(lost.id)
    assert alice.on.task is None
    assert await alice.on.gate(Effect.READ) is not None
    await alice.on.claim(other.id)
    assert lead.tasks.get(other.id).owner == "alice"


async def test_without_a_task_there_is_no_directory_instead(alice: TeammateUnderTest) -> None:
    with pytest.raises(NoWorkingDirectory):
        alice.on.cwd()
    assert await alice.on.gate(Effect.READ) == (
        "no_task",
        "you hold no task; claim one first (list_tasks shows what is ready)",
    )


async def test_a_task_that_was_taken_away_closes_the_lease_gate(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run)
    task = await alice.takes_next()
    assert await alice.on.gate(Effect.CHANGE) is None
    lead.tasks.reclaim(task.id, task.token or 0, "silent")
    problem = await alice.on.gate(Effect.READ)
    assert problem
    assert problem[0] == "lease_broken"


async def test_a_tree_that_was_removed_behind_its_holders_back_is_a_result_and_no_end(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T43
    puts_up(lead, run)
    await alice.takes_next()
    shutil.rmtree(alice.on.cwd())
    pool = alice.teammate._pool
    assert pool
    refused, listed = await pool.run(
        [call("write_file", "c1", path="b.py", content=""), call("list_tasks", "c2")]
    )
    assert refused["content"].startswith("[lease/lease_broken]")
    assert "[in_progress] A" in listed["content"]


# handing in


async def test_the_lead_is_told_of_a_proven_result_and_of_nothing_else(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T34
    task, other = puts_up(lead, run, checks=("fine",)), puts_up(lead, run, "B")
    await alice.takes_next()
    (alice.on.cwd() / "fine.txt").write_text("yes", encoding="utf-8")
    assert (await alice.on.complete("It is fine.")).startswith(f"completed {task.id}")
    await alice.on.leave()
    assert alice.told_lead() == [("result", "A: It is fine.\n(its checks passed)")]
    assert lead.tasks.get(other.id) == other


async def test_a_refusal_is_the_models_to_mend_and_no_news_for_the_lead(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, checks=("fine",))
    await alice.takes_next()
    with pytest.raises(ToolFailure, match="fine \\(exit code 1\\)") as caught:
        await alice.on.complete("It is fine.")
    assert caught.value.reason == "checks_failed"
    assert alice.told_lead() == []


async def test_turns_without_handing_in_fail_the_task_at_last_and_the_lead_is_told(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, max_attempts=2)
    await alice.takes_next()
    first = await alice.on.ended_without()
    assert first
    assert (first.status, first.refusals) == (Status.IN_PROGRESS, 1)
    last = await alice.on.ended_without()
    assert last
    assert last.status is Status.FAILED
    assert alice.told_lead()[-1][0] == "task_failed"


async def test_a_task_is_not_handed_in_twice(lead: Stores, run: Run, alice: TeammateUnderTest) -> None:
    puts_up(lead, run)
    await alice.takes_next()
    await alice.on.complete("done")
    with pytest.raises(ToolFailure, match="is completed already"):
        await alice.on.complete("done again")


async def test_a_result_that_comes_too_late_is_kept_and_told(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run)
    task = await alice.takes_next()
    desk = alice.on._desk
    slow = SlowVerifier(desk._verifier._git, desk._verifier._tree, {})
    slow.meanwhile = lambda: lead.tasks.reclaim(task.id, task.token or 0, "silent")
    desk._verifier = slow
    with pytest.raises(StaleToken):
        await alice.on.complete("done")
    branch = f"leadhand/{task.id}/{task.token}"
    assert alice.told_lead()[-1] == ("late_result", f"A was handed in too late; see {branch}")
    assert Repository(team.repository).git("rev-parse", "--verify", branch)


@pytest.mark.parametrize("gate", [PlanState.REQUIRED, PlanState.PENDING, PlanState.REJECTED])
async def test_nothing_is_handed_in_before_its_plan_is_approved(
    lead: Stores, run: Run, alice: TeammateUnderTest, gate: PlanState
) -> None:  # T113
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    if gate is not PlanState.REQUIRED:
        request = await alice.submits("Use decimals")
    if gate is PlanState.REJECTED:
        review(lead, request, Verdict.DENY, "no tests")
    assert await alice.plan.state() is gate
    with pytest.raises(ToolFailure) as caught:
        await alice.on.complete("done")
    assert caught.value.reason == "plan_not_approved"
