"""What the host does for the lead's model: start within what was agreed, judge plans once, ask for an end."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.numbered_log import pretty, seal
from coordination.protocols import Kind, TermOver
from coordination.records import Decision, MemberState, Plan, Verdict
from coordination.requests import AlreadyDecided
from coordination.roster import NameTaken, UnknownMember
from coordination.tasks.drafts import TaskDraft
from harness.off_loop import OffLoop
from harness.roles.catalog import RoleBroken, RoleCatalog, UnknownRole
from harness.roles.role import Role
from harness.tool import ToolFailure
from orchestrator.lead.leading import HostOfLead, review
from orchestrator.supervisor import Supervisor
from tests.support.launcher import FakeLauncher
from tests.support.mail import Receiver
from tests.support.people import claimant, comes_alive, dead, leads, stores_of

if TYPE_CHECKING:
    from coordination.records import Member, Task
    from coordination.roster import StartDetails
    from coordination.stores import Stores
    from coordination.team_root import Team

pytestmark = pytest.mark.anyio


@pytest.fixture
def launcher() -> FakeLauncher:
    return FakeLauncher()


@pytest.fixture
def host(lead: Stores, launcher: FakeLauncher) -> HostOfLead:
    supervisor = Supervisor(lead, launcher, given={})
    return host_of(lead, supervisor, RoleCatalog())


def host_of(lead: Stores, supervisor: Supervisor, roles: RoleCatalog) -> HostOfLead:
    start: StartDetails = {"model": "small-model"}
    return HostOfLead(lead, supervisor, off_loop=OffLoop(), max_workers=3, start=start, roles=roles)


class Author:
    """A living member with a task, who submits plans."""

    def __init__(self, team: Team, lead: Stores, name: str = "alice") -> None:
        self.member = comes_alive(team, name)
        self.stores = stores_of(team, self.member)
        self.claimant = claimant(self.member)
        made = lead.tasks.create([TaskDraft(subject="Round money", plan_required=True)])
        self.id = lead.tasks.publish([made[0].id])[0].id
        self.claim()

    def claim(self) -> Task:
        return self.stores.tasks.claim(self.id, self.claimant)

    @property
    def task(self) -> Task:
        return self.stores.tasks.get(self.id)

    def submits(self, text: str, number: int = 1, *, reviewer: str = "lead") -> str:
        """The id of the request for the plan."""
        digest, token = hashlib.sha256(text.encode()).hexdigest(), self.task.token or 0
        about: dict[str, Any] = {"task": self.id, "token": token, "plan": number, "content_digest": digest}
        asked = self.stores.requests.ask(Kind.PLAN, "Round money", reviewer=reviewer, question=text, **about)
        plan = Plan(number=number, digest=digest, request=asked.id)
        self.stores.tasks.submit_plan(self.id, token, plan)
        return asked.id


@pytest.fixture
def author(team: Team, lead: Stores) -> Author:
    return Author(team, lead)


def in_roster(lead: Stores, name: str) -> Member:
    member = lead.roster.member(name)
    assert member
    return member


# spawning


async def test_the_first_member_is_recorded_and_waits_for_the_persons_word(
    host: HostOfLead, lead: Stores, launcher: FakeLauncher
) -> None:  # W7
    assert "once the person has confirmed" in await host.spawn({"name": "alice", "role": "coder"})
    assert (launcher.started, [member.name for member in host.waiting]) == ([], ["alice"])
    member = in_roster(lead, "alice")
    assert (member.state, member.role, member.model) == (MemberState.STARTING, "coder", "small-model")


async def test_so_many_as_agreed_are_launched_and_the_others_called_off(
    host: HostOfLead, lead: Stores, launcher: FakeLauncher
) -> None:
    for name in ("alice", "bob", "carol"):
        await host.spawn({"name": name})
    host.launch_waiting(2)
    assert launcher.started == ["alice", "bob"]
    assert in_roster(lead, "carol").why == "not confirmed by the person"
    assert host.waiting == []


async def test_who_was_stopped_while_the_person_was_asked_is_not_started(
    host: HostOfLead, lead: Stores, launcher: FakeLauncher
) -> None:
    for name in ("alice", "bob", "carol"):
        await host.spawn({"name": name})
    lead.roster.withdraw("alice", in_roster(lead, "alice").spawn_id, "stopped by the person")
    assert host.working() == 0
    host.launch_waiting(2)
    assert launcher.started == ["bob", "carol"]


async def test_later_members_within_the_agreed_number_need_no_word(
    host: HostOfLead, lead: Stores, launcher: FakeLauncher
) -> None:  # T5
    await host.spawn({"name": "alice"})
    host.launch_waiting(2)
    assert "bob is starting without a task of its own" in await host.spawn({"name": "bob"})
    assert launcher.started == ["alice", "bob"]
    assert (in_roster(lead, "bob").reserved_task, lead.tasks.own_unfinished("bob")) == (None, None)
    assert "confirmed" in await host.spawn({"name": "carol"})
    assert launcher.started == ["alice", "bob"]


async def test_a_member_beyond_the_agreed_number_starts_once_the_person_agreed_to_more(
    host: HostOfLead, launcher: FakeLauncher
) -> None:
    await host.spawn({"name": "alice"})
    host.launch_waiting(1)
    await host.spawn({"name": "bob"})
    assert host.working() == 1
    host.launch_waiting(2)
    assert launcher.started == ["alice", "bob"]


async def test_more_than_the_limit_are_refused_with_the_setting(host: HostOfLead) -> None:  # W7
    for name in ("alice", "bob", "carol"):
        await host.spawn({"name": name})
    with pytest.raises(ToolFailure, match=r"workers\.max") as caught:
        await host.spawn({"name": "dave"})
    assert caught.value.reason == "max_workers"


async def test_a_name_that_is_borne_is_refused(host: HostOfLead) -> None:
    await host.spawn({"name": "alice"})
    with pytest.raises(NameTaken):
        await host.spawn({"name": "Alice"})


async def test_a_task_is_reserved_for_the_new_member(host: HostOfLead, lead: Stores) -> None:
    (task,) = lead.tasks.create([TaskDraft(subject="A")])
    await host.spawn({"name": "alice", "task_id": task.id, "require_plan": True})
    assert lead.tasks.get(task.id).reserved_for == "alice"
    member = in_roster(lead, "alice")
    assert (member.reserved_task, member.plan_required) == (task.id, True)


async def test_a_member_is_called_off_when_its_task_cannot_be_reserved(
    host: HostOfLead, lead: Stores, author: Author
) -> None:  # W29
    with pytest.raises(Exception, match="only an unclaimed task"):
        await host.spawn({"name": "bob", "task_id": author.id})
    assert in_roster(lead, "bob").state is MemberState.WITHDRAWN
    assert host.waiting == []


# reviewing


def test_a_plan_is_approved_once_and_its_author_told(team: Team, lead: Stores, author: Author) -> None:
    request = author.submits("Use decimals")
    assert review(lead, request, Verdict.APPROVE, "good").by == "lead~1"
    (mail,) = Receiver(team, "alice").receive()
    assert (mail.type, mail.content, mail.in_reply_to) == ("plan_decision", "good", request)
    assert mail.metadata == {"request": request, "verdict": "approve"}


def test_a_second_review_is_refused_and_names_the_first(lead: Stores, author: Author) -> None:
    request = author.submits("Use decimals")
    review(lead, request, Verdict.DENY, "no tests")
    with pytest.raises(ToolFailure, match=r"already decided: deny by lead~1") as caught:
        review(lead, request, Verdict.APPROVE, "")
    assert caught.value.reason == "cannot_be_reviewed"


def test_after_a_rejection_the_next_plan_is_the_one_to_review(lead: Stores, author: Author) -> None:
    first = author.submits("Use floats")
    review(lead, first, Verdict.DENY, "floats round wrong")
    review(lead, author.submits("Use decimals", 2), Verdict.APPROVE, "")


def test_a_plan_that_was_replaced_is_not_reviewed(lead: Stores, author: Author) -> None:
    first = author.submits("Use floats")
    author.submits("Use decimals", 2)
    with pytest.raises(ToolFailure, match="not the current plan"):
        review(lead, first, Verdict.APPROVE, "")


@pytest.mark.parametrize("claimed_again", [False, True])
def test_a_plan_of_an_earlier_assignment_is_not_reviewed(
    lead: Stores, author: Author, *, claimed_again: bool
) -> None:  # T51
    request = author.submits("Use decimals")
    author.stores.tasks.release(author.id, author.task.token or 0, "stopped")
    if claimed_again:
        author.claim()
    with pytest.raises(ToolFailure, match=r"earlier assignment"):
        review(lead, request, Verdict.APPROVE, "")


def test_a_plan_whose_author_is_gone_is_not_reviewed(lead: Stores, author: Author) -> None:
    request = author.submits("Use decimals")
    lead.roster.closing("alice", author.member.incarnation or 0)
    lead.roster.closed("alice", author.member.incarnation or 0, {})
    with pytest.raises(ToolFailure, match="is gone"):
        review(lead, request, Verdict.APPROVE, "")


def test_what_is_no_plan_is_not_reviewed(lead: Stores) -> None:
    question = lead.requests.ask(Kind.SHUTDOWN, "alice~2", reviewer="alice~2")
    with pytest.raises(ToolFailure, match="is not a plan"):
        review(lead, question.id, Verdict.APPROVE, "")


def test_the_lead_cannot_decide_what_the_person_reserved(lead: Stores, author: Author) -> None:
    request = author.submits("Use decimals", reviewer="person")
    with pytest.raises(Exception, match="may not decide it, person may"):
        review(lead, request, Verdict.APPROVE, "")
    assert lead.requests.get(request).answer is None


def test_a_lead_of_a_former_term_decides_nothing(team: Team, author: Author) -> None:
    old = leads(team, dead())
    leads(team)
    request = author.submits("Use decimals")
    with pytest.raises(TermOver):
        review(old, request, Verdict.APPROVE, "")


def test_a_forged_decision_file_counts_for_nobody(team: Team, lead: Stores, author: Author) -> None:  # W4
    request = author.submits("Use decimals")
    digest = lead.requests.get(request).question_digest
    forged = Decision(verdict=Verdict.APPROVE, by="alice~2", request_digest=digest, term=1).to_json()
    document = seal(f"request/{request}", forged, number=2, prev=1, commit_id="c2")
    (team.root / layout.record(layout.request_log(request), 2)).write_bytes(pretty(document))
    assert author.stores.requests.get(request).answer is None
    review(lead, request, Verdict.DENY, "no")
    with pytest.raises(AlreadyDecided):
        author.stores.requests.decide(request, Verdict.APPROVE)


async def test_the_tool_says_what_was_decided(host: HostOfLead, author: Author) -> None:
    request = author.submits("Use floats")
    said = await host.review_plan(request, approve=False, feedback="floats round wrong")
    assert said == f"plan rejected ({request})"


# asking for a plan


async def test_asking_for_a_plan_closes_the_gate_at_once_and_voids_what_was_approved(
    team: Team, lead: Stores, host: HostOfLead, author: Author
) -> None:  # T120
    review(lead, author.submits("Use decimals"), Verdict.APPROVE, "")
    await host.require_plan("alice", "How do you test it?")
    assert (author.task.plan, author.task.plan_required) == (None, True)
    assert in_roster(lead, "alice").plan_required
    assert Receiver(team, "alice").texts()[-1] == "How do you test it?"


async def test_a_plan_that_was_waiting_when_another_was_asked_for_opens_no_gate(
    lead: Stores, host: HostOfLead, author: Author
) -> None:  # W14
    before = author.submits("Use decimals")
    await host.require_plan("alice", "How do you test it?")
    with pytest.raises(ToolFailure, match="not the current plan"):
        review(lead, before, Verdict.APPROVE, "")
    assert (lead.requests.get(before).answer, author.task.plan) == (None, None)


async def test_a_plan_is_asked_of_a_member_without_a_task_for_its_next_one(
    team: Team, lead: Stores, host: HostOfLead
) -> None:
    comes_alive(team, "alice")
    await host.require_plan("alice", "What first?")
    assert in_roster(lead, "alice").plan_required


async def test_nothing_is_asked_of_who_is_not_there(lead: Stores, host: HostOfLead) -> None:
    with pytest.raises(UnknownMember, match="no member zoe"):
        await host.require_plan("zoe", "?")
    lead.roster.start("alice")
    with pytest.raises(ToolFailure, match="it is starting"):
        await host.require_plan("alice", "?")


# roles


def described(name: str, model: str | None) -> Role:
    return Role(name=name, description="Reads.", prompt="", source=f"{name}.md", digest="d", model=model)


async def test_a_role_brings_its_model_and_one_that_nobody_described_is_refused(
    lead: Stores, launcher: FakeLauncher
) -> None:
    roles = RoleCatalog(
        roles={"reader": described("reader", "big-model"), "coder": described("coder", None)},
        broken={"tester": "tester.md: error: there is no description [description-missing]"},
    )
    host = host_of(lead, Supervisor(lead, launcher, given={}), roles)
    await host.spawn({"name": "rita", "role": "reader"})
    await host.spawn({"name": "carl", "role": "coder"})
    assert [member.model for member in lead.roster.all()] == ["small-model", "big-model"]
    with pytest.raises(UnknownRole, match="no role cook; known are: coder, reader, teammate"):
        await host.spawn({"name": "zoe", "role": "cook"})
    with pytest.raises(RoleBroken, match=r"tester\.md: error: there is no description"):
        await host.spawn({"name": "zoe", "role": "tester"})
    assert "zoe" not in lead.roster.names()


# asking for an end


async def test_a_shutdown_is_a_request_to_that_very_process(
    team: Team, lead: Stores, host: HostOfLead
) -> None:
    alice = comes_alive(team, "alice")
    said = await host.request_shutdown("alice")
    (asked,) = lead.requests.open()
    bearer = f"alice~{alice.incarnation}"
    assert (asked.question.subject, asked.question.reviewer) == (bearer, bearer)
    assert asked.question.id in said


async def test_who_is_gone_is_not_asked(team: Team, lead: Stores, host: HostOfLead) -> None:
    alice = comes_alive(team, "alice")
    lead.roster.closing("alice", alice.incarnation or 0)
    lead.roster.closed("alice", alice.incarnation or 0, {})
    assert await host.request_shutdown("alice") == "alice is already gone"
    assert lead.requests.open() == []
