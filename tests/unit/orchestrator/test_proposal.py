"""The one screen that a person confirms."""

from __future__ import annotations

import json
from typing import Any

from coordination.records import Member, MemberState, Run
from harness.models.limits import Limits
from harness.models.prices import parse_price
from harness.roles.catalog import RoleCatalog
from harness.roles.role import Role
from orchestrator.proposal import Proposal, render
from tests.support.people import a_task

RUN = Run(id="run_00000001", goal="Fix the shop", branch="leadhand/run_00000001", base="0123456789abcdef")
FIRST = a_task(1, subject="Round money", checks=("unit", "lint"))
SECOND = a_task(2, subject="Total baskets", blocked_by=(FIRST.id,), plan_required=True)
ALICE = Member(name="alice", state=MemberState.STARTING, role="coder", model="big-model", plan_required=True)
BOB = Member(name="bob", state=MemberState.STARTING, reserved_task=FIRST.id)


def proposal(**changes: Any) -> Proposal:
    fields = {
        "run": RUN,
        "tasks": (FIRST, SECOND),
        "members": (ALICE, BOB),
        "every_task": (),
        "max_workers": 4,
        "repository": "/home/pat/shop",
        "roles": RoleCatalog(),
        "sandbox": "no sandbox",
        "limits": {"task": Limits(turns=40), "member": Limits(), "team": Limits(tokens=10**6, usd=5.0)},
        "prices": {"big-model": parse_price("big-model 3 15")[1], "other": None},
    }
    return Proposal(**{**fields, **changes})


def test_each_task_says_what_it_waits_for_and_what_proves_it() -> None:
    lines = render(proposal()).splitlines()
    assert "    1  Round money  (checks: unit, lint)" in lines
    assert "    2  Total baskets  (after 1; no checks: ends unverified; plan first)" in lines


def test_checks_of_every_task_are_shown_with_each() -> None:
    assert "    1  Round money  (checks: style, unit, lint)" in render(proposal(every_task=("style",)))


def test_each_member_says_its_role_model_and_launcher() -> None:
    lines = render(proposal()).splitlines()
    assert "  alice        coder, big-model, local, plan first" in lines
    assert "  bob          teammate, the lead's model, local" in lines


def test_the_limits_say_where_the_work_goes_and_that_bash_is_real() -> None:
    text = render(proposal())
    assert "branch leadhand/run_00000001 of /home/pat/shop, from commit 0123456789ab\n" in text
    assert "at most 4 members at a time; no sandbox" in text


def test_limits_and_prices_that_are_in_force_are_shown() -> None:
    lines = render(proposal()).splitlines()
    assert "limits: task 40 turns; team 1,000,000 tokens, 5.0 usd" in lines
    assert "USD per million tokens read and written: big-model 3 and 15, other unknown" in lines
    assert "limits: none" in render(proposal(limits={}, prices={})).splitlines()


def test_edits_that_the_team_does_not_see_are_named() -> None:
    assert "not committed" not in render(proposal())
    assert "because not committed: notes.txt, a.py" in render(proposal(unseen_edits=["notes.txt", "a.py"]))


def test_of_many_edits_that_are_not_seen_the_first_are_named() -> None:
    text = render(proposal(unseen_edits=[f"f{number}" for number in range(23)]))
    assert ", f19 and 3 more" in text
    assert "f20" not in text


def test_a_need_outside_the_proposal_is_shown_by_its_id() -> None:
    assert f"(after {FIRST.id}; " in render(proposal(tasks=(SECOND,)))


def test_programs_get_the_same_as_json() -> None:
    facts = json.loads(json.dumps(proposal(unseen_edits=["a.py"]).to_json()))
    assert (facts["run"], facts["goal"], facts["limits"]["max_workers"]) == (RUN.id, RUN.goal, 4)
    assert facts["limits"]["team"]["usd"] == 5.0
    assert (facts["prices"]["big-model"]["output"], facts["prices"]["other"]) == (15.0, None)
    assert facts["tasks"][1] == {
        "id": SECOND.id,
        "subject": "Total baskets",
        "blocked_by": [FIRST.id],
        "checks": [],
        "require_plan": True,
    }
    assert [member["reserved_task"] for member in facts["members"]] == [None, FIRST.id]
    assert facts["unseen_edits"] == ["a.py"]


def test_the_roles_of_the_members_are_shown_with_tools_and_file() -> None:
    coder = Role(
        name="coder",
        description="Writes code.",
        prompt="Be brief.",
        source=".agents/roles/coder.md",
        digest="d",
        tools=("read_file", "edit_file"),
    )
    idle = Role(name="idle", description="Rests.", prompt="", source="idle.md", digest="d")
    made = proposal(roles=RoleCatalog(roles={"coder": coder, "idle": idle}))
    assert "  coder        Writes code. (tools read_file, edit_file; .agents/roles/coder.md)" in render(made)
    (role,) = json.loads(json.dumps(made.to_json()))["roles"]
    assert (role["name"], role["tools"]) == ("coder", ["read_file", "edit_file"])
