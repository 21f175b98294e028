"""Life and death of lead and members, a sentence of the contract each, as real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess  # noqa: TID251 - a worker process as a launcher starts it, a verb in another namespace
import sys
from typing import TYPE_CHECKING

import pytest

from coordination.leadership import Leadership
from coordination.process import this_process
from coordination.records import MemberState, Status, Term
from coordination.tasks.drafts import TaskDraft
from coordination.team_root import open_team
from orchestrator.launchers.local import teammate_command
from tests.support.people import dead, leads
from tests.support.team_process import PATIENCE_SECONDS, SET_A

if TYPE_CHECKING:
    from coordination.records import Member
    from coordination.stores import Stores
    from tests.process.conftest import Stages
    from tests.support.team_process import Stage


SETS_A = """
  - when: {tools_called: ^$}
    call: {write_file: {path: a.py, content: a = 2}}
  - when: {tools_called: ^write_file$}
    call: {complete_task: {summary: a is 2}}
  - say: Done.
"""
HANGS = {
    "model": """
  - delay_seconds: 600
    say: Done.
""",
    "tool": """
  - call: {bash: {command: 'trap "" TERM; touch @PLACE@/begun; while :; do sleep 600; done', timeout: 600}}
""",
}


def dead_lead(stage: Stage) -> Stores:
    """What a lead had done that was killed right after it opened a run with one task."""
    stage.init()
    lead = leads(open_team(stage.root), dead())
    base = stage.person.head()
    run = lead.runs.open("Set a", base=base, checks={"done": "grep -q 'a = 2' a.py"}, planned=True)
    run = lead.runs.update(run.id, branch=f"leadhand/{run.id}", model="scripted", worker_model="scripted")
    (task,) = lead.tasks.create([TaskDraft(subject="set a", run=run.id, checks=("done",))])
    lead.tasks.publish([task.id])
    return lead


def launched(stage: Stage, member: Member) -> subprocess.Popen[str]:
    command = [*teammate_command(stage.root, member.name), "--spawn-id", member.spawn_id]
    return subprocess.Popen(command, env=stage.environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("step", ["launched", "alive"])
def test_a_member_that_a_dead_lead_launched_comes_late_or_stays(staged: Stages, step: str) -> None:
    stage = staged(SETS_A)
    member = dead_lead(stage).roster.start("ana", model="scripted")
    worker = launched(stage, member) if step == "alive" else None
    if worker:
        stage.until("alive")
    resumed = stage.leadhand("resume", "--yes", "--json")
    assert resumed.code == 0, resumed
    if worker:
        worker.communicate(timeout=PATIENCE_SECONDS)
        assert worker.returncode == 0
    if step == "launched":  # the process that the dead lead had started comes late
        late = launched(stage, member)
        assert "the start of ana does not stand any more" in late.communicate(timeout=PATIENCE_SECONDS)[1]
        assert late.returncode != 0
    gone = MemberState.CLOSED if step == "alive" else MemberState.WITHDRAWN
    assert [event.state for event in stage.stores.roster.history("ana")][-1] is gone
    assert stage.task("set a").status is Status.COMPLETED
    assert stage.history("set a").count("complete") == 1
    stage.nobody_is_left()


@pytest.mark.parametrize(
    "hung",
    ["model", pytest.param("tool", marks=pytest.mark.stress)],  # gets its ten seconds before it is ended
)
def test_a_member_whose_model_or_tool_hangs_is_stopped_and_its_task_is_free_again(
    staged: Stages, hung: str
) -> None:
    stage = staged(HANGS[hung])
    run = stage.start_tasks(SET_A)
    stage.until("claimed")
    if hung == "tool":
        stage.wait((stage.place / "begun").exists, "the command to run")
    name = stage.owner("set a")
    assert stage.leadhand("stop", name).code == 0
    stage.wait(lambda: "release" in stage.history("set a"), "the task to be given back")
    assert stage.task("set a").attempts == 0
    assert run.signal(signal.SIGINT).end().code == 130
    stage.nobody_is_left()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root makes a pid namespace"
)
def test_a_team_stops_whose_lead_no_signal_reaches(staged: Stages) -> None:
    stage = staged(HANGS["model"])
    run = stage.start_tasks(SET_A)
    stage.until("claimed")
    elsewhere = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    stop = [*elsewhere, sys.executable, "-P", "-m", "orchestrator.cli.main", "stop"]
    stopped = subprocess.run(stop, cwd=stage.root, env=stage.environment, capture_output=True, check=False)
    assert (stopped.returncode, stopped.stderr) == (0, b"")
    assert b"is ended with its work kept on its branches" in stopped.stdout
    assert run.end().code == 143
    assert (stage.task("set a").status, stage.task("set a").attempts) == (Status.CANCELLED, 0)
    assert stage.living() == []


def test_a_member_of_another_version_than_its_lead_is_refused(staged: Stages) -> None:
    stage = staged(SETS_A)
    stage.init()
    other = Term(process=this_process(), version="9.9.9")
    Leadership(open_team(stage.root))._log.commit(lambda *_: other.to_json())
    refused = stage.leadhand("worker", "--name", "ana")
    assert "the lead of this team is leadhand 9.9.9" in refused.complaint
    assert "pipx install --force leadhand==9.9.9" in refused.complaint
    assert (refused.code, stage.stores.roster.all()) == (2, [])


def test_members_by_hand_count_for_the_limit_and_names_differ_in_more_than_case(staged: Stages) -> None:
    stage = staged(SETS_A, LEADHAND_WORKERS_MAX="1")
    stage.init()
    first = stage.start("worker", "--name", "Carol")
    stage.until("alive")
    assert "no more are allowed" in stage.leadhand("worker", "--name", "dave").complaint
    stage.environment["LEADHAND_WORKERS_MAX"] = "4"
    assert "Carol bears it" in stage.leadhand("worker", "--name", "carol").complaint
    assert "reserved" in stage.leadhand("worker", "--name", "Lead").complaint
    assert "is no name" in stage.leadhand("worker", "--name", "../up").complaint
    assert stage.leadhand("stop").code == 0
    assert first.end().code == 0
    assert [member.name for member in stage.stores.roster.all()] == ["Carol"]
