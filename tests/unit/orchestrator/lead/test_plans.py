"""A plan that the lead's model forgets holds a run up no longer than one reminder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.protocols import Kind
from coordination.records import Message, Verdict
from orchestrator.lead.plans import PlansOfLead
from tests.support.people import comes_alive, stores_of, task_id

if TYPE_CHECKING:
    from coordination.records import Request
    from coordination.stores import Stores
    from coordination.team_root import Team


def asks(team: Team, reviewer: str = "lead") -> Request:
    alice = stores_of(team, comes_alive(team, "alice"))
    return alice.requests.ask(Kind.PLAN, "Round money", reviewer=reviewer, task=task_id(1), token=3, plan=1)


def mail_about(plan: Request) -> Message:
    return Message(
        id="msg_1",
        seq=1,
        type="plan_request",
        sender="alice~2",
        to="lead",
        to_start=0,
        content="",
        sent_at="",
        metadata={"request": plan.id},
    )


def test_a_plan_is_forgotten_once_it_was_told_and_left_after_the_reminder(
    team: Team, lead: Stores
) -> None:  # W16
    plans = PlansOfLead(lead.again())
    plan = asks(team)
    assert plans.forgotten() == []  # its mail is still on the way
    plans.heard(mail_about(plan))
    assert plans.left() == set()
    assert plans.forgotten() == [plan]
    assert plans.forgotten() == []
    assert plans.left() == {task_id(1)}
    lead.requests.decide(plan.id, Verdict.APPROVE)
    assert plans.left() == set()


def test_what_an_earlier_lead_was_told_is_forgotten_with_it(team: Team, lead: Stores) -> None:
    plan = asks(team)
    assert PlansOfLead(lead.again()).forgotten() == [plan]


def test_a_plan_for_the_person_is_not_the_leads_to_forget(team: Team, lead: Stores) -> None:
    asks(team, reviewer="person")
    assert PlansOfLead(lead.again()).forgotten() == []
