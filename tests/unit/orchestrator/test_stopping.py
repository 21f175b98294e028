"""The person's way to stop a member, or the whole team."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination.errors import UsageError
from coordination.protocols import PERSON, Kind
from coordination.records import Member, MemberState, Status
from coordination.stores import Stores, open_stores
from coordination.tasks.drafts import TaskDraft
from orchestrator.lead.ending import end_run
from orchestrator.stopping import end_process, stop_member, stop_team
from tests.support.people import comes_alive, dead, elsewhere, leads

if TYPE_CHECKING:
    from coordination.team_root import Team


@pytest.fixture
def person(team: Team) -> Stores:
    return open_stores(team, PERSON)


def in_roster(stores: Stores, name: str) -> Member:
    member = stores.roster.member(name)
    assert member
    return member


def stops(person: Stores, member: Member) -> str:
    return stop_member(person, member, patience_seconds=5)


def test_a_member_gets_a_request_for_that_very_process(team: Team, person: Stores) -> None:
    with pytest.raises(UsageError, match="alice was asked, but does not stop; end it on far"):
        stops(person, comes_alive(team, "alice", elsewhere()))
    (asked,) = person.requests.open()
    assert (asked.question.kind, asked.question.subject) == (Kind.SHUTDOWN, "alice~2")


def test_a_start_is_called_off(person: Stores) -> None:
    assert stops(person, person.roster.start("alice")) == "the start of alice was called off"
    assert in_roster(person, "alice").state is MemberState.WITHDRAWN


def test_a_dead_member_is_asked_nothing(team: Team, person: Stores) -> None:
    assert "already gone" in stops(person, comes_alive(team, "alice", dead()))
    assert person.requests.open() == []


def test_a_process_of_another_machine_is_never_signalled(team: Team, person: Stores) -> None:
    assert not end_process(person, comes_alive(team, "alice", elsewhere()))


def test_a_team_without_a_lead_is_ended_on_record(team: Team, person: Stores) -> None:
    lead = leads(team, dead())
    run = lead.runs.open("Fix it", base="0" * 40)
    comes_alive(team, "bob", dead())
    assert run.id in stop_team(person, patience_seconds=1)
    assert person.runs.get(run.id).state == "stopped"


def test_a_member_that_no_signal_reaches_is_asked_and_named_and_the_run_stays_open(
    team: Team, person: Stores
) -> None:
    lead = leads(team, dead())
    run = lead.runs.open("Fix it", base="0" * 40)
    comes_alive(team, "alice", elsewhere())
    with pytest.raises(UsageError, match="alice was asked, but does not stop; end it on far"):
        stop_team(person, patience_seconds=1)
    assert [asked.question.subject for asked in person.requests.open()] == ["alice~2"]
    assert person.runs.get(run.id).state == "open"


def test_without_an_open_run_there_is_nothing_to_end(person: Stores) -> None:
    assert stop_team(person, patience_seconds=1) == "the team is stopped; no run is open"


def test_a_lead_that_no_signal_reaches_is_asked_and_named_and_the_run_stays_open(
    team: Team, person: Stores
) -> None:
    lead = leads(team, elsewhere())
    run = lead.runs.open("Fix it", base="0" * 40)
    with pytest.raises(UsageError, match="the lead on far \\(process 4711\\) was asked, but does not stop"):
        stop_team(person, patience_seconds=1)
    (asked,) = person.requests.open()
    assert (asked.question.kind, asked.question.reviewer) == (Kind.SHUTDOWN, "lead~1")
    assert person.runs.get(run.id).state == "open"


def test_the_end_of_a_run_cancels_what_is_open_and_keeps_what_is_final(team: Team) -> None:
    lead = leads(team)
    run = lead.runs.open("Fix it", base="0" * 40)
    drafts = [TaskDraft(subject=subject, run=run.id) for subject in ("A", "B")]
    held, cancelled = lead.tasks.create(drafts)
    lead.tasks.cancel(cancelled.id, "not wanted")
    assert end_run(lead, run.id, "stopped").state == "stopped"
    assert lead.tasks.get(held.id).status is Status.CANCELLED
    assert lead.tasks.get(cancelled.id).why == "not wanted"
