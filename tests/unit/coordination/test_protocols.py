"""The plan gate, reviews, orders and terms."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from coordination.protocols import (
    Kind,
    TermOver,
    lead_term,
    order_refusal,
    plan_state,
    review_refusal,
    term_to_write,
)
from coordination.records import Decision, Lease, Plan, PlanState, Request, Status, Task, Verdict

PLAN = Plan(number=1, digest="d1", request="req_00000001")
QUESTION = Request(
    id="req_00000001",
    kind="plan",
    asker="alice~2",
    subject="alice",
    reviewer="lead",
    task="task_00000001",
    token=5,
    plan=1,
    content_digest="d1",
)
TASK = Task(
    id="task_00000001",
    subject="work",
    status=Status.IN_PROGRESS,
    owner="alice",
    lease=Lease(holder="alice~2", token=5),
    plan=PLAN,
)


@dataclass(frozen=True)
class Answered:
    question: Request
    answer: Decision | None = None


def answer(verdict: Verdict, by: str = "lead~3") -> Decision:
    return Decision(verdict=verdict, by=by, request_digest="q")


def question(**changes: object) -> Request:
    return msgspec.structs.replace(QUESTION, **changes)


def task(**changes: object) -> Task:
    return msgspec.structs.replace(TASK, **changes)


# the plan gate


def test_no_plan_is_required_where_nobody_asks_for_one() -> None:
    assert plan_state(False, PLAN, Answered(QUESTION)) is PlanState.NOT_REQUIRED


def test_a_gate_without_a_plan_is_closed() -> None:
    assert plan_state(True, None, None) is PlanState.REQUIRED
    assert plan_state(True, PLAN, None) is PlanState.REQUIRED


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (None, PlanState.PENDING),
        (Verdict.APPROVE, PlanState.APPROVED),
        (Verdict.DENY, PlanState.REJECTED),
        (Verdict.WITHDRAW, PlanState.REQUIRED),
    ],
)
def test_the_gate_follows_the_answer(verdict: Verdict | None, state: PlanState) -> None:
    asked = Answered(QUESTION, answer(verdict) if verdict else None)
    assert plan_state(True, PLAN, asked) is state


@pytest.mark.parametrize(
    "other",
    [{"id": "req_00000009"}, {"plan": 2}, {"content_digest": "d2"}, {"kind": "permission"}],
)
def test_an_approval_of_anything_else_opens_no_gate(other: dict[str, object]) -> None:
    asked = Answered(question(**other), answer(Verdict.APPROVE))
    assert plan_state(True, PLAN, asked) is PlanState.REQUIRED


def test_a_new_plan_voids_the_approval_of_the_one_before() -> None:
    second = Plan(number=2, digest="d2", request="req_00000009")
    assert plan_state(True, second, Answered(QUESTION, answer(Verdict.APPROVE))) is PlanState.REQUIRED


def test_a_pending_question_of_a_gone_asker_counts_as_withdrawn_and_an_approval_stands() -> None:
    assert plan_state(True, PLAN, Answered(QUESTION), asker_present=False) is PlanState.REQUIRED
    approved = Answered(QUESTION, answer(Verdict.APPROVE))
    assert plan_state(True, PLAN, approved, asker_present=False) is PlanState.APPROVED


# reviews


def test_the_current_plan_can_be_reviewed() -> None:
    assert review_refusal(QUESTION, TASK) is None


def test_a_plan_under_the_token_of_an_earlier_assignment_is_refused() -> None:
    later = task(lease=Lease(holder="bob~4", token=9), plan=None)
    assert "earlier assignment" in (review_refusal(QUESTION, later) or "")
    assert plan_state(True, later.plan, Answered(QUESTION, answer(Verdict.APPROVE))) is PlanState.REQUIRED


@pytest.mark.parametrize("status", [Status.PENDING, Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_a_plan_of_a_released_or_finished_task_is_refused(status: Status) -> None:
    released = task(status=status, lease=None, owner=None, plan=None)
    assert review_refusal(QUESTION, released) == (
        f"req_00000001 belongs to an earlier assignment of task_00000001, which is now {status}"
    )


def test_a_plan_that_was_replaced_is_refused() -> None:
    second = Plan(number=2, digest="d2", request="req_00000009")
    assert "not the current plan" in (review_refusal(QUESTION, task(plan=second)) or "")
    assert "not the current plan" in (review_refusal(QUESTION, task(plan=None)) or "")


def test_reviewing_twice_is_refused_and_says_who_decided() -> None:
    said = review_refusal(QUESTION, TASK, answer=answer(Verdict.DENY, "person"))
    assert said == "req_00000001 was already decided: deny by person"


def test_an_approval_after_the_worker_was_shut_down_is_refused() -> None:
    assert "alice~2 is gone" in (review_refusal(QUESTION, TASK, asker_present=False) or "")


def test_a_plan_descends_with_its_task_to_the_resumed_worker() -> None:
    resumed = task(lease=Lease(holder="alice~7", token=8), resumed_from=5)
    assert review_refusal(QUESTION, resumed) is None
    approved = Answered(QUESTION, answer(Verdict.APPROVE))
    assert plan_state(True, resumed.plan, approved, asker_present=False) is PlanState.APPROVED


@pytest.mark.parametrize("other", [{"kind": "shutdown"}, {"task": "task_00000002"}, {"task": None}])
def test_what_is_no_plan_of_the_task_is_refused(other: dict[str, object]) -> None:
    assert review_refusal(question(**other), TASK) == "req_00000001 is not a plan for task_00000001"


# orders


@pytest.mark.parametrize("asker", ["person", "lead~3"])
def test_the_person_and_the_present_lead_give_orders(asker: str) -> None:
    assert order_refusal(question(asker=asker), present_term=3) is None


@pytest.mark.parametrize("asker", ["bob~4", "lead~2", "lead~4", "lead", "person~host", "Person", ""])
def test_nobody_else_gives_orders(asker: str) -> None:  # T33
    assert f"asked by {asker}, not by" in (order_refusal(question(asker=asker), present_term=3) or "")


# terms


def test_a_lead_writes_its_own_term_while_it_is_the_newest() -> None:
    assert term_to_write("lead~3", 0, 3) == 3
    assert term_to_write("lead~4", 0, 3) == 4
    with pytest.raises(TermOver):
        term_to_write("lead~2", 9, 3)


@pytest.mark.parametrize("actor", ["alice~2", "person", "lead", "leader~9"])
def test_everybody_else_follows_the_highest_term_known(actor: str) -> None:
    assert term_to_write(actor, 2, 3) == 3
    assert term_to_write(actor, 4, 3) == 4


def test_the_term_of_a_bearer_is_that_of_the_lead_only() -> None:
    terms = {who: lead_term(who) for who in ("lead~3", "lead", "lead~", "lead~-1", "xlead~3", "lead~3\n")}
    assert terms == dict.fromkeys(terms, None) | {"lead~3": 3}


def test_kinds_are_what_records_say() -> None:
    assert {str(kind) for kind in Kind} == {
        *("plan", "shutdown", "interrupt", "compact", "permission", "proposal")
    }
