"""Real processes on two hosts, each with a mount of its own of one team directory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from coordination.records import MemberState
from harness.context.conversation import Conversation

if TYPE_CHECKING:
    from tests.sharedfs.conftest import Teams
    from tests.sharedfs.hosts import TeamOfTwo

WORKS = """
  - when: {tools_called: ^$, system: name=worker-1, last_user: paint}
    call: {bash: {command: 'until [ -e "$HOME/../go" ]; do sleep 0.1; done'}}
  - when: {tools_called: ^$, system: role=teammate}
    call: {bash: {command: sed -i s/1/2/ a.py}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
TASKS = """
- {key: a, subject: set a, checks: [done]}
- {key: b, subject: paint one, needs: [a], checks: [any]}
- {key: c, subject: paint two, needs: [a], checks: [any]}
"""
SETS = """
  - when: {tools_called: ^$}
    call: {bash: {command: sed -i s/1/2/ a.py}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
WAITS = """
  - when: {tools_called: ^$, system: name=bob}
    call: {bash: {command: 'echo half > half.txt; sleep 60'}}
  - when: {tools_called: ^$, system: role=teammate}
    call: {bash: {command: 'echo whole > whole.txt'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: done}}
  - say: Done.
"""
TWO = """
- {key: a, subject: one, checks: [any]}
- {key: b, subject: two, checks: [any]}
"""
GOES_ON = """
  - when: {system: role=lead, tools_called: ^$}
    call: {todo_write: {todos: [{content: wait for bob, status: in_progress}]}}
  - when: {system: role=lead, tools_called: ^todo_write$}
    call: {create_task: {subject: set a, description: It has to be 2., checks: [done], require_plan: true}}
  - when: {system: role=lead, last_user: how is it going}
    say: It goes well.
  - when: {system: role=lead}
    say: I wait.
  - when: {tools_called: ^$}
    call: {submit_plan: {plan: Set a to 2.}}
  - when: {tools_called: submit_plan$}
    call: {bash: {command: sed -i s/1/2/ a.py}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""


@pytest.mark.parametrize(("file_system", "profile"), [("gluster", "flock"), ("sshfs-nocache", "unlocked")])
def test_a_worker_by_hand_on_another_host_does_its_share(
    teams: Teams, file_system: str, profile: str
) -> None:
    team = teams(file_system, WORKS)
    if file_system == "sshfs-nocache":  # where trees are slow; each host has its own
        team.settings["LEADHAND_WORKTREES_DIR"] = "~/trees"
    else:
        team.mount_elsewhere("b")
    (team.place / "tasks.yaml").write_text(TASKS, encoding="utf-8")
    run = team.begin("a", "run", "--tasks", str(team.place / "tasks.yaml"), "--workers", "1", "--json")
    team.until("started")
    bob = team.begin("b", "worker", "--name", "bob")
    team.wait(lambda: "bob" in {task.owner for task in team.stores.tasks.all()}, "a task of bob")
    (team.place / "go").touch()
    assert run.end().code == 0, team.last_words()
    assert bob.end().code == 0
    assert all(task.merged for task in team.stores.tasks.all())
    assert team.profile("a") == team.profile("b") == profile


def key_of(team: TeamOfTwo, host: str) -> str:
    """What a host is told that may not lead yet."""
    refused = team.leadhand(host, "resume", "--json")
    assert refused.code == 2
    found = re.search(r"--key ([0-9a-f]{64})", refused.err)
    assert found, refused
    return found[1]


def wait_for_plan(team: TeamOfTwo) -> str:
    """The id of the question that a plan waits with."""
    team.wait(lambda: any(asked.question.kind == "plan" for asked in team.stores.requests.open()), "a plan")
    (asked,) = team.stores.requests.open()
    return asked.question.id


def end_lead(team: TeamOfTwo, how: str) -> None:
    lead = team.stores.leadership.newest()
    assert lead
    if how == "kill -9":
        team.kill("a", lead[1].process.pid)
    else:
        team.cluster.script("cut", "a")


@pytest.mark.parametrize(
    ("file_system", "how"), [("gluster", "its host is cut off"), ("sshfs-nocache", "kill -9")]
)
def test_another_host_goes_on_where_the_lead_died(teams: Teams, file_system: str, how: str) -> None:
    team = teams(file_system, GOES_ON)
    assert team.leadhand("a", "init").code == 0
    bob = team.begin("b", "worker", "--name", "bob")
    team.until("alive")
    first = team.begin("a", "run", "set a to 2", "--yes", "--json")
    plan = wait_for_plan(team)
    assert team.leadhand("a", "trust", "--key", key_of(team, "b")).code == 0

    end_lead(team, how)
    assert team.leadhand("b", "send", "lead", "how is it going").code == 0
    second = team.begin("b", "resume", "--yes", "--json")
    team.wait(lambda: team.stores.leadership.present() == 2, "the next term")
    assert wait_for_plan(team) == plan
    assert team.leadhand("b", "approve", plan).code == 0
    assert second.end().code == 0, team.last_words()
    assert bob.end().code == 0

    task = team.task("set a")
    assert (task.owner, task.attempts, bool(task.merged)) == ("bob", 0, True)
    left = Conversation.of(team.journal("lead~2"))
    assert "set a to 2" in str(left.messages[0])
    assert left.todos == [{"content": "wait for bob", "status": "in_progress"}]
    assert sum("how is it going" in str(message["content"]) for message in left.messages) == 1
    assert "It goes well." in str(left.messages)
    team.cluster.script("heal", "a")
    assert first.end().code != 0  # where it was only cut off it finds the next term, and ends
    assert team.stores.leadership.present() == 2


def test_a_team_is_stopped_from_another_host_than_its_leads(teams: Teams) -> None:
    team = teams("gluster", WAITS.replace("sleep 60", 'until [ -e "$HOME/../go" ]; do sleep 0.1; done'))
    (team.place / "tasks.yaml").write_text(TWO, encoding="utf-8")
    assert team.leadhand("a", "init").code == 0
    bob = team.begin("b", "worker", "--name", "bob")
    team.until("alive")
    run = team.begin("a", "run", "--tasks", str(team.place / "tasks.yaml"), "--workers", "1", "--json")
    team.until("model_call", who="bob~2", tools=["bash"])
    refused = team.leadhand("b", "stop")
    assert (refused.code, "may look, but not lead or decide here" in refused.err) == (2, True), refused
    assert team.leadhand("a", "trust", "--key", key_of(team, "b")).code == 0
    stop = team.begin("b", "stop")
    team.until("asked_to_stop", member="bob")
    (team.place / "go").touch()
    stopped = stop.end()
    assert stopped.code == 0, (stopped, team.last_words())
    assert "is ended with its work kept on its branches" in stopped.out
    assert run.end().code == 143
    assert bob.end().code == 0
    assert {member.state for member in team.stores.roster.all()} == {MemberState.CLOSED}


def test_a_worker_whose_host_is_cut_off_loses_its_task_to_another(teams: Teams) -> None:
    team = teams("gluster", WAITS)
    (team.place / "tasks.yaml").write_text(TWO, encoding="utf-8")
    assert team.leadhand("a", "init").code == 0
    bob = team.begin("b", "worker", "--name", "bob")
    team.until("alive")
    run = team.begin("a", "run", "--tasks", str(team.place / "tasks.yaml"), "--workers", "1", "--json")
    team.until("model_call", who="bob~2", tools=["bash"])
    team.cluster.script("cut", "b")
    assert run.end().code == 0, team.last_words()
    tasks = team.stores.tasks
    assert all(task.merged for task in tasks.all())
    assert {task.owner for task in tasks.all()} == {"worker-1"}
    steps = [version.event for task in tasks.all() for _, version in tasks.history(task.id)]
    assert (steps.count("reclaim"), steps.count("complete")) == (1, 2)
    team.cluster.script("heal", "b")
    assert bob.end().code == 1  # another bears its name, which it finds once it can see again


def test_a_host_that_sees_files_too_late_is_refused_with_the_way_out(teams: Teams) -> None:
    team = teams("sshfs")  # with its caches
    greeter = team.act("a", "greet")
    team.wait(lambda: "greets" in greeter.so_far.out, "the first host")
    refused = team.leadhand("b", "worker", "--name", "bob")
    assert refused.code == 2
    assert "(fuse.sshfs): files that host-a makes are not listed here within 5 s; mount it" in refused.err
    assert "dir_cache=no" in refused.err
    assert team.hosts() == {"host-a": "unlocked", "host-b": "unfit"}


def test_a_process_on_a_local_disk_takes_up_that_another_host_mounts_it(teams: Teams) -> None:
    team = teams("sshfs-nocache")
    server = team.act("s", "greet")
    team.wait(lambda: "greets" in server.so_far.out, "the server")
    assert team.hosts() == {"host-s": "local"}
    client = team.act("b", "take_part").end()
    assert client.code == 0, client
    assert "unlocked" in client.out
    team.wait(lambda: "unlocked" in server.so_far.out, "the change of the profile")
    assert team.hosts() == {"host-s": "unlocked", "host-b": "unlocked"}


@pytest.mark.parametrize("file_system", ["gluster", "sshfs-nocache"])
def test_commands_and_checks_run_in_the_sandbox_on_a_shared_mount(teams: Teams, file_system: str) -> None:
    team = teams(file_system, SETS)
    team.settings["LEADHAND_SANDBOX"] = "bwrap"
    (team.place / "tasks.yaml").write_text("- {key: a, subject: set a, checks: [done]}", encoding="utf-8")
    run = team.begin("a", "run", "--tasks", str(team.place / "tasks.yaml"), "--workers", "1", "--json")
    assert run.end().code == 0, team.last_words()
    assert team.task("set a").merged
    assert {event["sandboxed"] for event in team.events("completed")} == {True}
