"""Questions, and that each has one answer."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.files import StateDirectory
from coordination.numbered_log import pretty, seal
from coordination.protocols import TermOver, plan_state, review_refusal
from coordination.records import Lease, Plan, PlanState, Request, Status, Task, Verdict
from coordination.requests import AlreadyDecided, Requests, UnknownRequest
from coordination.roster import Roster
from coordination.team_root import Team

if TYPE_CHECKING:
    from tests.support.clock import FakeClock


@pytest.fixture
def alice(team: Team) -> Requests:
    return Requests(team, "alice~2", lambda: 1)


@pytest.fixture
def lead(team: Team) -> Requests:
    return Requests(team, "lead~1", lambda: 1)


@pytest.fixture
def person(team: Team) -> Requests:
    return Requests(team, "person")


def ask_plan(asker: Requests, reviewer: str = "lead") -> Request:
    return asker.ask(
        "plan",
        "alice",
        reviewer=reviewer,
        question="May I?",
        task="task_00000001",
        token=5,
        plan=1,
        content_digest="d",
    )


def answer_file(team: Team, request: str, number: int = 2) -> dict[str, Any]:
    text = (team.root / layout.record(layout.request_log(request), number)).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def plant(team: Team, request: str, body: dict[str, Any], number: int = 2) -> None:
    document = seal(f"request/{request}", body, number=number, prev=number - 1, commit_id=f"c{number}")
    (team.root / layout.record(layout.request_log(request), number)).write_bytes(pretty(document))


# asking


def test_a_question_is_open_until_it_is_answered(alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice)
    assert [state.question for state in lead.open()] == [question]
    lead.decide(question.id, Verdict.APPROVE, reason="fine")
    assert lead.open() == []
    assert alice.open() == []


def test_a_question_says_who_asks_what_about_which_plan(alice: Requests) -> None:
    question = ask_plan(alice)
    assert (question.asker, question.subject, question.reviewer) == ("alice~2", "alice", "lead")
    assert (question.task, question.token, question.plan) == ("task_00000001", 5, 1)
    assert (question.term, question.default) == (1, Verdict.DENY)


def test_open_questions_come_by_age(alice: Requests, lead: Requests, clock: FakeClock) -> None:
    asked = []
    for _ in range(3):
        asked.append(ask_plan(alice))
        clock.advance(1)
    assert [state.question for state in lead.open()] == asked


def test_the_same_id_is_asked_once(alice: Requests, lead: Requests) -> None:  # W15
    alice.ask("plan", "alice", reviewer="lead", id="req_00000001")
    with pytest.raises(InvalidRecord, match="already asked"):
        alice.ask("plan", "alice", reviewer="lead", id="req_00000001")
    assert len(lead.open()) == 1


@pytest.mark.parametrize("request_id", ["req_00000000", "../escape", "req_1", ""])
def test_an_unknown_question_is_an_error_and_makes_no_file(
    team: Team, lead: Requests, request_id: str
) -> None:
    for act in (lead.get, lead.withdraw, lead.stamp, lambda name: lead.decide(name, Verdict.APPROVE)):
        with pytest.raises(UnknownRequest):
            act(request_id)
    assert team.directory.names(layout.REQUESTS) == []


def test_odd_text_is_asked_all_the_same(alice: Requests, lead: Requests) -> None:
    alice.ask("permission", "alice", reviewer="person", question="a\ud800b")
    assert lead.open()[0].question.question == "a?b"


# answering


def test_a_decision_is_kept_with_its_reason(alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice)
    lead.decide(question.id, Verdict.DENY, by="lead~1", reason="too broad", term=1)
    answer = alice.get(question.id).answer
    assert answer
    assert (answer.verdict, answer.by, answer.reason) == (Verdict.DENY, "lead~1", "too broad")


def test_a_question_is_decided_once(alice: Requests, lead: Requests, person: Requests) -> None:
    question = ask_plan(alice)
    lead.decide(question.id, Verdict.DENY)
    with pytest.raises(AlreadyDecided, match=r"already decided: deny by lead~1"):
        person.decide(question.id, Verdict.APPROVE)
    with pytest.raises(AlreadyDecided):
        alice.withdraw(question.id)


def test_deciders_that_contend_have_one_winner(team: Team, alice: Requests) -> None:
    question = ask_plan(alice)
    barrier, won, lost = threading.Barrier(4), [], []

    def decide(verdict: Verdict) -> None:
        own = Team(id=team.id, directory=StateDirectory(team.root), repository=team.root, clock=team.clock)
        barrier.wait()
        try:
            won.append(Requests(own, "person").decide(question.id, verdict).verdict)
        except AlreadyDecided as error:
            lost.append(error.verdict)

    threads = [threading.Thread(target=decide, args=(v,)) for v in [Verdict.APPROVE, Verdict.DENY] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert lost == won * 3


def test_a_shutdown_of_alice_that_bob_answers_stays_pending(team: Team, lead: Requests) -> None:  # T32
    asked = lead.ask("shutdown", "alice~2", reviewer="alice~2")
    with pytest.raises(InvalidRecord, match="bob~3 may not decide it, alice~2 may"):
        Requests(team, "bob~3").decide(asked.id, Verdict.APPROVE)
    assert lead.get(asked.id).answer is None


def test_a_plan_for_the_person_is_not_decided_by_the_lead(alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice, reviewer="person")
    with pytest.raises(InvalidRecord, match="lead~1 may not decide it, person may"):
        lead.decide(question.id, Verdict.APPROVE)


@pytest.mark.parametrize(
    "forged",
    [
        {"by": "bob~3"},
        {"by": "lead~9"},
        {"request_digest": "another"},
        {"signature": "x"},
        {"verdict": "maybe"},
        {"verdict": "withdraw", "by": "alice~2", "secret": "guess"},
        {"by": 7},
    ],
)
def test_a_forged_answer_is_ignored_and_the_true_one_counts(
    team: Team, alice: Requests, lead: Requests, forged: dict[str, Any]
) -> None:
    question = ask_plan(alice)
    honest = {
        "verdict": "approve",
        "by": "lead~1",
        "term": 1,
        "request_digest": lead.get(question.id).question_digest,
    }
    plant(team, question.id, honest | forged)
    assert alice.get(question.id).answer is None
    lead.decide(question.id, Verdict.DENY)
    answer = alice.get(question.id).answer
    assert answer
    assert answer.verdict is Verdict.DENY
    assert answer_file(team, question.id, 3)["prev"] == 1


def test_what_comes_after_the_answer_changes_nothing(team: Team, alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice)
    lead.decide(question.id, Verdict.DENY)
    plant(team, question.id, answer_file(team, question.id) | {"verdict": "approve"}, number=3)
    fresh = Requests(team, "alice~2").get(question.id).answer
    assert fresh
    assert fresh.verdict is Verdict.DENY


def test_an_answer_copied_from_another_question_does_not_count(
    team: Team, alice: Requests, lead: Requests
) -> None:
    first, second = ask_plan(alice), ask_plan(alice)
    lead.decide(first.id, Verdict.APPROVE)
    plant(team, second.id, answer_file(team, first.id))
    assert alice.get(second.id).answer is None


# withdrawing and new terms


def test_the_asker_withdraws_its_question(alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice)
    assert alice.withdraw(question.id).verdict is Verdict.WITHDRAW
    with pytest.raises(AlreadyDecided, match="withdraw by alice~2"):
        lead.decide(question.id, Verdict.APPROVE)


def test_another_process_of_the_name_cannot_withdraw(team: Team, alice: Requests) -> None:
    question = ask_plan(alice)
    for other in (Requests(team, "alice~2"), Requests(team, "alice~3"), Requests(team, "bob~2")):
        with pytest.raises(InvalidRecord):
            other.withdraw(question.id, "guess")
    assert alice.get(question.id).answer is None


def test_an_approval_after_a_shutdown_is_out_of_date_and_the_next_bearer_has_a_closed_gate(
    team: Team, lead: Requests
) -> None:
    roster = Roster(team, "lead~1", lambda: 1)
    worker = roster.come_alive("alice", roster.start("alice", plan_required=True).spawn_id)
    question = ask_plan(Requests(team, f"alice~{worker.incarnation}"))
    plan = Plan(number=1, digest="d", request=question.id)
    task = Task(
        id="task_00000001",
        subject="work",
        status=Status.IN_PROGRESS,
        lease=Lease(holder="alice~2", token=5),
        plan=plan,
    )
    roster.closing("alice", 2)
    assert review_refusal(question, task, asker_present=roster.is_present(question.asker)) is None
    roster.closed("alice", 2, {})
    assert review_refusal(question, task, asker_present=roster.is_present(question.asker))
    fresh = roster.come_alive("alice", roster.start("alice", plan_required=True).spawn_id)
    assert not roster.is_present(question.asker)
    asked = lead.get(question.id)
    assert plan_state(fresh.plan_required, plan, asked, asker_present=False) is PlanState.REQUIRED


def test_after_a_new_term_the_old_lead_decides_nothing(team: Team, alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice)
    successor = Requests(team, "lead~2", lambda: 2)
    successor.stamp(question.id)
    successor.stamp(question.id)
    assert successor.get(question.id).term == 2
    with pytest.raises(TermOver):
        lead.decide(question.id, Verdict.APPROVE)
    assert successor.decide(question.id, Verdict.APPROVE).term == 2
    assert not (team.root / layout.record(layout.request_log(question.id), 4)).exists()


def test_a_late_answer_of_the_old_lead_does_not_count(team: Team, alice: Requests, lead: Requests) -> None:
    question = ask_plan(alice)
    state = lead.get(question.id)
    Requests(team, "lead~2", lambda: 2).stamp(question.id)
    late = {"verdict": "approve", "by": "lead~1", "term": 1, "request_digest": state.question_digest}
    plant(team, question.id, late, number=3)
    assert alice.get(question.id).answer is None


def test_the_person_decides_under_the_newest_term(team: Team, alice: Requests, person: Requests) -> None:
    question = ask_plan(alice)
    Requests(team, "lead~5", lambda: 5).stamp(question.id)
    assert person.decide(question.id, Verdict.APPROVE).term == 5


def test_a_stamp_changes_nothing_but_the_term(team: Team, alice: Requests) -> None:
    question = ask_plan(alice)
    plant(team, question.id, question.to_json() | {"term": 2, "reviewer": "bob"})
    state = alice.get(question.id)
    assert (state.question.reviewer, state.term) == ("lead", 1)


def test_a_question_under_the_id_of_another_does_not_count(team: Team, alice: Requests) -> None:
    question = ask_plan(alice)
    team.directory.make(layout.request_log("req_00000009"))
    plant(team, "req_00000009", question.to_json(), number=1)
    with pytest.raises(UnknownRequest):
        alice.get("req_00000009")
    assert [state.question.id for state in alice.open()] == [question.id]
