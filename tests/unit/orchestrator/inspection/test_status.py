"""How the team stands, as anybody with a terminal can see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.joining import agree_on_profile
from coordination.liveness import Beat
from coordination.process import this_process
from coordination.profile import Joined, Profile
from coordination.protocols import Kind
from coordination.records import TaskResult
from coordination.stores import Stores, open_stores
from coordination.tasks.drafts import TaskDraft
from harness.tools.tasks import one_line
from orchestrator.cli.main import main
from orchestrator.inspection.status import render, status
from orchestrator.terminal.confirmation import ANSWERED, ASKED
from tests.support.people import claimant, comes_alive, dead, elsewhere, leads, stores_of

if TYPE_CHECKING:
    from coordination.records import Member, Run, Task
    from coordination.team_root import Team


@pytest.fixture
def run(lead: Stores) -> Run:
    return lead.runs.open("Fix the shop", base="0" * 40)


@pytest.fixture
def person(team: Team) -> Stores:
    return open_stores(team, "person")


def made(lead: Stores, run: Run, subject: str, *needs: str) -> Task:
    (task,) = lead.tasks.create([TaskDraft(subject=subject, run=run.id, blocked_by=needs)])
    return lead.tasks.publish([task.id])[0]


def done(team: Team, task: Task, member: Member, *, verified: bool = True) -> None:
    own = stores_of(team, member).tasks
    token = own.claim(task.id, claimant(member)).token or 0
    own.complete(task.id, token, commit="c0ffee", branch="b", result=TaskResult(verified=verified))


def ask_plan(stores: Stores, task: Task, *, reviewer: str = "person") -> str:
    return stores.requests.ask(Kind.PLAN, task.subject, reviewer=reviewer, task=task.id).id


def test_a_fresh_team_says_that_nothing_is_there_yet(person: Stores, team: Team) -> None:
    text = render(status(person))
    assert text.splitlines() == [f"team directory {team.root}", "no lead yet", "no run yet"]


def test_the_lead_is_alive_dead_or_ended(team: Team, lead: Stores, person: Stores) -> None:
    assert status(person)["lead"]["state"] == "alive"
    lead.leadership.end(1)
    assert status(person)["lead"]["state"] == "ended"
    leads(team, dead())
    assert status(person)["lead"]["state"] == "dead"
    leads(team, elsewhere())
    assert "lead: alive (process 4711 on far); that cannot be seen from here" in render(status(person))


def test_an_open_run_that_nobody_leads_says_how_it_goes_on(lead: Stores, run: Run, person: Stores) -> None:
    assert "leadhand resume" not in render(status(person))
    lead.leadership.end(1)
    assert "lead: ended" in render(status(person))
    assert "`leadhand resume` goes on" in render(status(person))
    leads(lead.team, dead()).runs.update(run.id, state="done")
    assert "leadhand resume" not in render(status(person))


def test_a_team_that_waits_for_a_yes_is_seen_from_everywhere(
    team: Team, lead: Stores, person: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    def seen() -> tuple[bool, object]:
        with pytest.raises(SystemExit) as ended:
            main(["approvals", "--team", str(team.root)])
        told = 'the lead waits at its terminal for your answer to "start this team?" (proposed teammates: 3)'
        assert (told in capsys.readouterr().out) == (told in render(status(person)))
        return told in render(status(person)), ended.value.code

    assert seen() == (False, 0)
    lead.events.record(ASKED, members=3)
    assert seen() == (True, 3)
    lead.events.record(ANSWERED)
    assert seen() == (False, 0)
    lead.events.record(ASKED, members=3)
    lead.leadership.end(1)
    assert seen() == (False, 0)


def test_a_task_shows_what_it_waits_for(lead: Stores, run: Run, person: Stores) -> None:
    first = made(lead, run, "A")
    second = made(lead, run, "B", first.id)
    rows = {task["id"]: task for task in status(person)["tasks"]}
    assert (rows[first.id]["blocked_by"], rows[second.id]["blocked_by"]) == ([], [first.id])
    assert f"B (waits for {first.id})" in render(status(person))


def test_a_completed_need_blocks_no_longer(team: Team, lead: Stores, run: Run, person: Stores) -> None:
    first = made(lead, run, "A")
    second = made(lead, run, "B", first.id)
    done(team, first, comes_alive(team, "alice"))
    notes = {task["id"]: (task["note"], task["blocked_by"]) for task in status(person)["tasks"]}
    assert notes == {first.id: ("waits to be merged", []), second.id: ("", [])}


def test_work_without_proof_is_unverified(team: Team, lead: Stores, run: Run, person: Stores) -> None:
    done(team, made(lead, run, "A"), comes_alive(team, "alice"), verified=False)
    assert "A (unverified)" in render(status(person))


def test_work_that_a_person_merged_without_proof_says_both(
    team: Team, lead: Stores, run: Run, person: Stores
) -> None:
    task = made(lead, run, "A")
    done(team, task, comes_alive(team, "alice"), verified=False)
    lead.tasks.record_merge(task.id, "c" * 40)
    assert "A (merged unverified)" in render(status(person))
    assert "merged unverified" in one_line(person.tasks.get(task.id))


def test_a_task_behind_a_cancelled_one_is_blocked_for_ever(lead: Stores, run: Run, person: Stores) -> None:
    first = made(lead, run, "A")
    made(lead, run, "B", first.id)
    lead.tasks.cancel(first.id, "not wanted")
    assert f"blocked for ever by {first.id}" in render(status(person))


def test_refusals_and_lost_holders_are_told(team: Team, lead: Stores, run: Run, person: Stores) -> None:
    task, alice = made(lead, run, "A"), comes_alive(team, "alice")
    token = lead.tasks.claim(task.id, claimant(alice)).token or 0
    lead.tasks.refuse(task.id, token, TaskResult())
    lead.tasks.reclaim(task.id, token, "dead")
    assert "(1 completion refused; 1 holder lost)" in render(status(person))


def test_a_member_shows_the_task_in_its_beat(team: Team, person: Stores) -> None:
    alice = comes_alive(team, "alice")
    Beat(team, f"alice~{alice.incarnation}").beat("task_00000001", 5)
    assert status(person)["members"] == [
        {
            "name": "alice",
            "role": "teammate",
            "model": None,
            "state": "alive",
            "host": this_process().host,
            "task": "task_00000001",
            "waiting_on": None,
            "why": "",
        }
    ]


@pytest.mark.parametrize("beat", [b"", b"1 - -", b"1", b"\xff\xfe \x1b[2J", b"1 ../../x 3"])
def test_a_beat_that_names_no_task_shows_none(team: Team, person: Stores, beat: bytes) -> None:
    alice = comes_alive(team, "alice")
    (team.root / layout.beat(f"alice~{alice.incarnation}")).write_bytes(beat)
    assert status(person)["members"][0]["task"] is None


def test_a_member_whose_process_is_gone_is_dead(team: Team, person: Stores) -> None:
    comes_alive(team, "alice", dead())
    assert status(person)["members"][0]["state"] == "dead"


def test_a_dead_member_is_restarting_while_the_lead_that_promised_it_lives(
    team: Team, lead: Stores, person: Stores
) -> None:
    gone = comes_alive(team, "alice", dead())
    lead.roster.update("alice", gone.incarnation, comes_back=True)
    assert status(person)["members"][0]["state"] == "restarting"
    lead.leadership.end(1)
    leads(team, dead())
    assert status(person)["members"][0]["state"] == "dead"


def test_an_open_plan_says_how_to_decide_it(team: Team, lead: Stores, run: Run, person: Stores) -> None:
    alice = stores_of(team, comes_alive(team, "alice"))
    task = made(lead, run, "A")
    mine, leads_own = ask_plan(alice, task), ask_plan(alice, task, reviewer="lead")
    text = render(status(person))
    assert f"{mine}  plan of alice for A (leadhand approve {mine})" in text
    assert f"{leads_own}  plan of alice for A (the lead decides, or leadhand approve {leads_own})" in text


def test_who_waits_is_shown_with_whom_it_waits_for(
    team: Team, lead: Stores, run: Run, person: Stores
) -> None:
    member = comes_alive(team, "alice")
    alice, task = stores_of(team, member), made(lead, run, "A")
    plan = ask_plan(alice, task)
    assert status(person)["members"][0]["waiting_on"] is None  # its turn goes on
    lead.roster.update("alice", member.incarnation, waiting_on="the decision on its plan")
    assert f"waits for the decision of the person on its plan ({plan})" in render(status(person))
    alice.requests.withdraw(plan)
    lead.roster.update("alice", member.incarnation, waiting_on=None)
    call = alice.requests.ask(Kind.PERMISSION, "bash", reviewer="person", task=task.id).id
    assert f"waits for the word of the person on bash ({call})" in render(status(person))
    alice.requests.withdraw(call)
    assert "waits for" not in render(status(person))


def test_a_plan_of_somebody_who_is_gone_is_no_open_question(team: Team, lead: Stores, run: Run) -> None:
    alice = comes_alive(team, "alice")
    ask_plan(stores_of(team, alice), made(lead, run, "A"))
    assert alice.incarnation
    lead.roster.closing("alice", alice.incarnation)
    lead.roster.closed("alice", alice.incarnation, {})
    assert status(lead)["questions"] == []


def test_the_newest_run_is_shown_when_none_is_open(lead: Stores, run: Run, person: Stores) -> None:
    lead.runs.update(run.id, state="done")
    assert f"run {run.id} [done]: Fix the shop" in render(status(person))


def leaves(lead: Stores, member: Member) -> None:
    assert member.incarnation
    lead.roster.closing(member.name, member.incarnation)
    lead.roster.closed(member.name, member.incarnation, {})


def test_who_left_before_the_run_is_counted_and_shown_when_asked_for(
    team: Team, lead: Stores, run: Run, person: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves(lead, comes_alive(team, "alice"))
    comes_alive(team, "bob")
    lead.runs.update(run.id, state="done")
    lead.leadership.end(1)
    assert "alice" in render(status(person))  # until the next run begins
    second = leads(team)
    second.runs.open("Fix the barn", base="0" * 40)
    leaves(second, comes_alive(team, "carol"))
    facts = status(person)
    assert [member["name"] for member in facts["members"]] == ["bob", "carol"]
    assert facts["left_before"] == 1
    assert "(1 more left before this run; `status --all` names them)" in render(facts)
    with pytest.raises(SystemExit):
        main(["status", "--all", "--team", str(team.root)])
    shown = capsys.readouterr().out
    assert re.search("alice +closed", shown)
    assert "left before" not in shown


def test_a_damaged_task_is_told_and_hides_no_other(
    team: Team, lead: Stores, run: Run, person: Stores
) -> None:
    broken, sound = made(lead, run, "A"), made(lead, run, "B")
    for record in (team.root / layout.task_log(broken.id)).iterdir():
        record.write_bytes(b"{}")
    facts = status(person)
    assert [task["id"] for task in facts["tasks"]] == [sound.id]
    assert broken.id in facts["problems"]
    assert f"problems:\n  {broken.id}: " in render(facts)


def test_the_hosts_are_told_and_where_members_run_once_there_are_several(team: Team, person: Stores) -> None:
    comes_alive(team, "alice")
    here = this_process().host
    agree_on_profile(team)
    assert f"on {here} (local)" in render(status(person))
    assert not re.search(rf"alice +alive +teammate +{re.escape(here)}", render(status(person)))
    other = Joined(
        profile=Profile.UNFIT, found=Profile.UNFIT, host="b", at="", file_system="nfs4", why="late"
    )
    team.mount.take({**team.mount.hosts, "b": other})
    facts = status(person)
    assert f"on {here} (local)\nrefused: b (nfs4): late" in render(facts)
    facts["members"].append({**facts["members"][0], "name": "bob", "host": "b"})
    assert re.search(rf"alice +alive +teammate +{re.escape(here)}", render(facts))
