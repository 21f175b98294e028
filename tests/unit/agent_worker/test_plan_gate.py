"""The plan gate of a teammate: what opens it, what closes it, and where its plans lie."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.protocols import Kind
from coordination.records import PlanState, Run, Verdict
from coordination.stores import Stores, open_stores
from coordination.usage import Usage
from harness.loop import Ended, TurnOutcome
from harness.off_loop import OffLoop
from harness.roles.catalog import RoleCatalog
from harness.tool import ToolFailure
from orchestrator.lead.leading import HostOfLead, review
from orchestrator.supervisor import Supervisor
from tests.support.launcher import FakeLauncher
from tests.support.teammate import TeammateUnderTest, puts_up
from tests.support.tools import call

if TYPE_CHECKING:
    from coordination.team_root import Team

pytestmark = pytest.mark.anyio


async def test_without_a_requirement_no_plan_is_needed(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run)
    await alice.takes_next()
    assert await alice.plan.state() is PlanState.NOT_REQUIRED


async def test_a_plan_goes_through_rejection_and_a_better_one_to_approval(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T30
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    assert await alice.plan.state() is PlanState.REQUIRED
    first = await alice.submits("Use floats")
    assert await alice.plan.state() is PlanState.PENDING
    review(lead, first, Verdict.DENY, "floats round wrong")
    assert await alice.plan.state() is PlanState.REJECTED
    second = await alice.submits("Use decimals")
    assert second != first
    review(lead, second, Verdict.APPROVE, "")
    assert await alice.plan.state() is PlanState.APPROVED
    decision = await alice.plan.decision()
    assert decision
    assert decision.verdict is Verdict.APPROVE


@pytest.mark.parametrize(("verdict", "told"), [(Verdict.APPROVE, "approved"), (Verdict.DENY, "rejected")])
async def test_a_decision_before_the_end_of_the_turn_is_told_and_no_refused_completion(
    lead: Stores, run: Run, alice: TeammateUnderTest, verdict: Verdict, told: str
) -> None:
    task = puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    review(lead, await alice.submits("Use decimals"), verdict, "")
    over = TurnOutcome(text="", rounds=1, usage=Usage(), ended=Ended.DONE)
    assert await alice.worker._go_on(over) == f"[Plan {told}] by lead"
    assert lead.tasks.get(task.id).refusals == 0
    assert (await alice.worker._go_on(over)).startswith("[Still open]")


async def test_an_approved_scope_is_enforced_before_every_change_and_gone_with_its_approval(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    said = await alice.plan.submit_plan("Only the module", {"paths": ["a.py"]})
    request = said.split()[2].rstrip(";")
    assert await alice.plan.scope() is None
    review(lead, request, Verdict.APPROVE, "")
    pool = alice.teammate._pool
    assert pool
    [refused] = await pool.run([call("write_file", path="b.py", content="B = 1\n")])
    assert refused["content"].startswith(
        "[plan/out_of_scope] b.py is outside the scope of your approved plan"
    )
    [done] = await pool.run([call("write_file", path="a.py", content="A = 2\n")])
    assert done["content"] == "Wrote 6 bytes to a.py"
    again = await alice.plan.submit_plan("Another module too", {"paths": ["a.py", "b.py"]})
    assert await alice.plan.scope() is None  # what was approved is void
    [closed] = await pool.run([call("write_file", path="a.py", content="A = 3\n")])
    assert closed["content"].startswith("[plan/plan_pending]")
    review(lead, again.split()[2].rstrip(";"), Verdict.APPROVE, "")
    [done] = await pool.run([call("write_file", path="b.py", content="B = 1\n")])
    assert done["content"] == "Wrote 6 bytes to b.py"


async def test_no_file_is_written_or_edited_before_the_plan_is_approved_and_each_once_after_it(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T24
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    request = await alice.submits("B beside A")
    pool = alice.teammate._pool
    assert pool
    calls = [
        call("write_file", "c1", path="b.py", content="B = 1\n"),
        call("edit_file", "c2", path="a.py", old_text="1", new_text="12"),
    ]
    for refused in await pool.run(calls):
        assert refused["content"].startswith("[plan/plan_pending]")
    assert not (alice.on.cwd() / "b.py").exists()
    review(lead, request, Verdict.APPROVE, "")
    assert [result["content"] for result in await pool.run(calls)] == ["Wrote 6 bytes to b.py", "Edited a.py"]
    assert (alice.on.cwd() / "a.py").read_text(encoding="utf-8") == "A = 12\n"


async def test_a_second_plan_waits_for_the_decision_on_the_first(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    await alice.submits("Use floats")
    with pytest.raises(ToolFailure, match="already waiting"):
        await alice.plan.submit_plan("Use decimals")


async def test_asking_for_a_plan_closes_the_gate_at_once(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T30
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    review(lead, await alice.submits("Use decimals"), Verdict.APPROVE, "")
    host = HostOfLead(
        lead,
        Supervisor(lead, FakeLauncher(), given={}),
        off_loop=OffLoop(),
        max_workers=3,
        start={},
        roles=RoleCatalog(),
    )
    await host.require_plan("alice", "And the tests?")
    assert await alice.plan.state() is PlanState.REQUIRED
    again = await alice.submits("Decimals, with tests")
    plan = lead.tasks.get(alice.on.task.id if alice.on.task else "").plan
    assert plan
    assert lead.requests.get(again).question.content_digest == plan.digest


async def test_every_plan_is_a_file_of_its_own(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, plan_required=True)
    task = await alice.takes_next()
    for text in ("first", "second"):
        await alice.submits(text)
        lead.tasks.require_plan(task.id)
    plans = team.root / f".team/plans/{task.id}"
    assert sorted(path.read_text(encoding="utf-8") for path in plans.iterdir()) == ["first", "second"]


async def test_the_question_carries_the_digest_of_the_plan_in_the_file(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    puts_up(lead, run, plan_required=True)
    task = await alice.takes_next()
    question = lead.requests.get(await alice.submits("Use decimals \ud800")).question
    file = team.root / layout.plan(task.id, task.token or 0, question.plan or 0)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == question.content_digest
    assert (question.kind, question.reviewer, question.token) == (Kind.PLAN, "lead", task.token)


async def test_a_plan_for_the_person_is_not_mailed_to_the_lead(
    team: Team, lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:
    lead.runs.update(run.id, plan_reviewer="person")
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    request = await alice.submits("Use decimals")
    assert alice.told_lead() == []
    person = open_stores(team, "person")
    review(person, request, Verdict.APPROVE, "go")
    assert await alice.plan.state() is PlanState.APPROVED


async def test_the_requirement_of_a_member_survives_to_its_next_task(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T52, W43
    lead.roster.update("alice", alice.member.incarnation, plan_required=True)
    pool = alice.teammate._pool
    assert pool
    for subject in ("A", "B"):
        puts_up(lead, run, subject)
        task = await alice.takes_next()
        assert await alice.plan.state() is PlanState.REQUIRED
        assert "A plan is required" in await alice.on.brief(task)
        [refused] = await pool.run([call("write_file", path="b.py", content="")])
        assert refused["content"].startswith("[plan/plan_required]")
        review(lead, await alice.submits(f"Do {subject}"), Verdict.APPROVE, "")
        await alice.on.complete("done")
        await alice.on.leave()
    assert len(alice.told_lead()) == 4


async def test_an_approval_is_void_after_the_task_was_given_back(
    lead: Stores, run: Run, alice: TeammateUnderTest
) -> None:  # T51
    puts_up(lead, run, plan_required=True)
    await alice.takes_next()
    review(lead, await alice.submits("Use decimals"), Verdict.APPROVE, "")
    await alice.on.give_back("stopped")
    await alice.takes_next()
    assert await alice.plan.state() is PlanState.REQUIRED
