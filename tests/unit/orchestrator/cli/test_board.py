"""What a person does to the board by command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from coordination.errors import UsageError
from coordination.records import Status, Task, TaskResult
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import BlankSubject, Claimant, UnknownTask
from coordination.tasks.rules import InvalidTransition
from orchestrator.cli.look import tasks

if TYPE_CHECKING:
    from coordination.records import Run
    from coordination.stores import Stores
    from coordination.team_root import Team

ALICE = Claimant(name="alice", incarnation=2)


@pytest.fixture
def run(lead: Stores) -> Run:
    return lead.runs.open("Fix the shop", base="0" * 40, checks={"fast": "true"})


def made(lead: Stores, run: Run, *drafts: tuple[str, tuple[str, ...]]) -> list[Task]:
    """Published tasks, each a subject and the subjects that it needs."""
    wanted = [TaskDraft(subject=name, key=name, blocked_by=needs, run=run.id) for name, needs in drafts]
    return lead.tasks.publish(task.id for task in lead.tasks.create(wanted))


def command(team: Team, *arguments: str) -> str:
    """What the command says; what it raises goes on, as to the border of the process."""
    result = CliRunner().invoke(tasks, ["--team", str(team.root), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def present(lead: Stores) -> dict[str, Task]:
    """By subject, the last one made."""
    return {task.subject: task for task in lead.tasks.all()}


def end(lead: Stores, task: Task, *, well: bool) -> None:
    token = lead.tasks.claim(task.id, ALICE).token or 0
    if well:
        lead.tasks.complete(task.id, token, commit="c0ffee", branch="b", result=TaskResult())
    else:
        lead.tasks.fail(task.id, token, TaskResult(), "gave up")


def test_an_added_task_belongs_to_the_open_run_and_can_be_claimed(team: Team, lead: Stores, run: Run) -> None:
    [first] = made(lead, run, ("first", ()))
    options = ["--needs", first.id, "--check", "fast", "--priority", "1", "--role", "reviewer"]
    said = command(team, "add", "look at it", *options)
    task = present(lead)["look at it"]
    assert said == f"added {task.id}: look at it\n"
    assert (task.run, task.status, task.by) == (run.id, Status.PENDING, "person")
    assert (task.blocked_by, task.checks, task.priority, task.roles) == (
        (first.id,),
        ("fast",),
        1,
        ("reviewer",),
    )
    assert (team.root / ".tasks" / f"{task.id}.json").exists()


@pytest.mark.parametrize(
    ("arguments", "refusal", "says"),
    [
        (["x", "--check", "slow"], UsageError, "known are: fast"),
        (["x", "--needs", "task_ffffffff"], UnknownTask, "task_ffffffff"),
        ([" "], BlankSubject, "subject"),
    ],
)
@pytest.mark.usefixtures("run")
def test_a_task_that_cannot_be_is_refused_and_nothing_written(
    team: Team, lead: Stores, arguments: list[str], refusal: type[Exception], says: str
) -> None:
    with pytest.raises(refusal, match=says):
        command(team, "add", *arguments)
    assert lead.tasks.all() == []


def test_without_an_open_run_nothing_is_added(team: Team) -> None:
    with pytest.raises(UsageError, match="leadhand run"):
        command(team, "add", "something")


def test_a_cancelled_task_is_taken_from_its_holder_and_says_what_will_never_be_ready(
    team: Team, lead: Stores, run: Run
) -> None:
    first, second, third = made(lead, run, ("a", ()), ("b", ("a",)), ("c", ("b",)))
    lead.tasks.claim(first.id, ALICE)
    said = command(team, "cancel", first.id, "--why", "another way")
    assert said.endswith(f"never ready now: {second.id}, {third.id}\n")
    assert (lead.tasks.get(first.id).status, lead.tasks.get(first.id).why) == ("cancelled", "another way")
    with pytest.raises(InvalidTransition):
        command(team, "cancel", first.id)


def test_a_redo_of_failed_work_brings_what_waited_for_it_along(team: Team, lead: Stores, run: Run) -> None:
    a, b, c, d = made(lead, run, ("a", ()), ("b", ("a",)), ("c", ("b", "d")), ("d", ()))
    end(lead, a, well=False)
    command(team, "redo", a.id)
    new = present(lead)
    assert [new[name].redo_of for name in "abc"] == [a.id, b.id, c.id]
    assert (new["b"].blocked_by, new["c"].blocked_by) == ((new["a"].id,), (new["b"].id, d.id))
    assert [lead.tasks.get(task.id).status for task in (a, b, c)] == ["failed", "cancelled", "cancelled"]
    assert lead.tasks.claim_next(ALICE) == lead.tasks.get(d.id)


def test_what_waits_for_completed_work_waits_for_its_redo_too(team: Team, lead: Stores, run: Run) -> None:
    a, b = made(lead, run, ("a", ()), ("b", ("a",)))
    end(lead, a, well=True)
    command(team, "redo", a.id)
    again = present(lead)["a"]
    assert again.redo_of == a.id
    assert lead.tasks.blockers(b.id) == (again.id,)


def test_only_what_is_over_is_done_again(team: Team, lead: Stores, run: Run) -> None:
    [task] = made(lead, run, ("a", ()))
    with pytest.raises(UsageError, match="pending; cancel it first"):
        command(team, "redo", task.id)


def test_a_redo_opens_the_failed_run_again_and_never_one_that_is_done(
    team: Team, lead: Stores, run: Run
) -> None:
    [task] = made(lead, run, ("a", ()))
    end(lead, task, well=False)
    lead.runs.update(run.id, state="failed")
    assert "leadhand resume" in command(team, "redo", task.id)
    assert lead.runs.get(run.id).state == "open"
    lead.runs.update(run.id, state="done")
    with pytest.raises(UsageError, match="is done"):
        command(team, "redo", task.id)
