"""What the lead's model forgets holds a run up no longer than one reminder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.protocols import Kind, answer_of
from coordination.records import Message, Verdict
from orchestrator.lead.owed import Owed
from tests.support.people import comes_alive, stores_of, task_id

if TYPE_CHECKING:
    from coordination.records import Request
    from coordination.stores import Stores
    from coordination.team_root import Team


def asks(team: Team, reviewer: str = "lead") -> Request:
    alice = stores_of(team, comes_alive(team, "alice"))
    return alice.requests.ask(Kind.PLAN, "Round money", reviewer=reviewer, task=task_id(1), token=3, plan=1)


def mail(type: str = "message", **metadata: str) -> Message:  # noqa: A002 - the word of the record
    return Message(
        id="msg_1",
        seq=1,
        type=type,
        sender="alice~2",
        to="lead",
        to_start=0,
        content="",
        sent_at="",
        metadata=metadata,
    )


def test_a_plan_is_forgotten_once_it_was_told_and_left_after_the_reminder(
    team: Team, lead: Stores
) -> None:  # W16
    owed = Owed(lead.again())
    plan = asks(team)
    assert owed.plans() == []  # its mail is still on the way
    owed.heard(mail("plan_request", request=plan.id))
    assert owed.left() == set()
    assert owed.plans() == [plan]
    assert owed.plans() == []
    assert owed.left() == {task_id(1)}
    lead.requests.decide(plan.id, Verdict.APPROVE)
    assert owed.left() == set()


def test_what_an_earlier_lead_was_told_is_forgotten_with_it(team: Team, lead: Stores) -> None:
    plan = asks(team)
    assert Owed(lead.again()).plans() == [plan]


def test_a_plan_for_the_person_is_not_the_leads_to_forget(team: Team, lead: Stores) -> None:
    asks(team, reviewer="person")
    assert Owed(lead.again()).plans() == []


def waits(team: Team, for_what: str | None) -> None:
    """Alice says what she waits for."""
    member = comes_alive(team, "alice")
    stores_of(team, member).roster.update("alice", member.incarnation or 0, waiting_on=for_what)


def test_an_answer_is_owed_once_to_who_waits_for_it_and_was_heard(team: Team, lead: Stores) -> None:
    owed = Owed(lead.again())
    waits(team, answer_of("lead"))
    assert owed.answers() == []  # her mail is still on the way
    owed.heard(mail("idle"))
    assert owed.answers() == []
    owed.heard(mail())
    assert owed.answers() == ["alice"]
    assert owed.answers() == []


@pytest.mark.parametrize("for_what", [None, answer_of("bob")])
def test_nothing_is_owed_to_who_waits_for_nothing_of_the_lead(
    team: Team, lead: Stores, for_what: str | None
) -> None:
    owed = Owed(lead.again())
    waits(team, for_what)
    owed.heard(mail())
    assert owed.answers() == []


def test_who_was_written_to_has_its_answer(team: Team, lead: Stores) -> None:
    owed = Owed(lead.again())
    waits(team, answer_of("lead"))
    owed.heard(mail())
    owed.sent("alice")
    assert owed.answers() == []
