"""What the report says of a run, from the disk alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.events import EventLog
from coordination.records import Run, Status, Task, TaskResult
from coordination.tasks.drafts import TaskDraft
from coordination.usage import Usage
from orchestrator.inspection.report import Report, make_report, render, save_report, to_json
from orchestrator.inspection.use import ESTIMATED
from tests.support.people import a_task, claimant, comes_alive, stores_of

if TYPE_CHECKING:
    from coordination.stores import Stores
    from coordination.team_root import Team
    from tests.support.clock import FakeClock

RUN = Run(id="run_00000001", goal="Fix the shop", branch="leadhand/run_00000001", base="0123456789abcdef")
PROVEN = TaskResult(text="rounded", verified=True)
MERGED = a_task(1, Status.COMPLETED, result=PROVEN, merged="c0ffee")
UNVERIFIED = a_task(2, Status.COMPLETED, result=TaskResult())
FAILED = a_task(3, Status.FAILED, why="the checks refused completion 3")


def of(*tasks: Task, words: str = "") -> Report:
    return Report(run=RUN, tasks=tasks, steps=(), usage={}, words=words)


def opened(lead: Stores) -> Run:
    return lead.runs.open("Fix the shop", base="0" * 40)


def one_task_done(team: Team, lead: Stores, run: Run) -> Task:
    """Refused by its checks once, then completed by alice and merged."""
    (task,) = lead.tasks.publish([lead.tasks.create([TaskDraft(subject="Round money", run=run.id)])[0].id])
    alice = comes_alive(team, "alice")
    own = stores_of(team, alice).tasks
    token = own.claim(task.id, claimant(alice)).token or 0
    own.refuse(task.id, token, TaskResult())
    own.complete(task.id, token, commit="c0ffee", branch="b", result=PROVEN)
    return lead.tasks.record_merge(task.id, "decade")


# what is whole


def test_a_run_is_whole_when_every_task_is_merged() -> None:
    assert of(MERGED).is_whole
    assert of(MERGED, a_task(4, Status.CANCELLED)).is_whole


@pytest.mark.parametrize("task", [UNVERIFIED, FAILED, a_task(4), a_task(4, Status.COMPLETED, result=PROVEN)])
def test_one_task_that_is_not_brought_back_makes_a_run_not_whole(task: Task) -> None:
    report = of(MERGED, task)
    assert not report.is_whole
    assert report.open_tasks == [task]


def test_a_run_without_tasks_is_not_whole() -> None:
    assert not of().is_whole


def test_a_task_that_was_done_again_counts_no_longer() -> None:
    again = a_task(4, Status.COMPLETED, result=PROVEN, merged="decade", redo_of=FAILED.id)
    assert of(MERGED, FAILED, again).is_whole
    assert of(MERGED, FAILED, again).failed == []


def test_work_without_passed_checks_is_unverified_and_named_so() -> None:
    report = of(MERGED, UNVERIFIED)
    assert report.unverified == [UNVERIFIED]
    assert "unverified, not merged without you: Task 2 (leadhand merge task_00000002)" in render(report)


def test_an_open_task_is_named_with_its_reason() -> None:
    assert f"open: {FAILED.id} [failed] Task 3 - the checks refused completion 3" in render(of(FAILED))


def test_the_end_shows_how_to_look_at_the_branch_and_merge_it() -> None:
    text = render(of(MERGED, words="All is well."))
    assert "1 of 1 tasks done and merged\n\nAll is well." in text
    assert "look:   git log --graph --oneline 0123456789ab..leadhand/run_00000001" in text
    assert "merge:  git merge leadhand/run_00000001" in text


def test_without_a_merge_no_branch_is_offered() -> None:
    assert render(of(FAILED)).endswith("nothing was merged; your own branch and files are untouched")


# from disk


def test_the_story_says_who_did_what_in_order(team: Team, lead: Stores) -> None:
    run = opened(lead)
    one_task_done(team, lead, run)
    steps = [(step.by.partition("~")[0], step.event) for step in make_report(team, lead.tasks, run).steps]
    assert steps == [("alice", "claim"), ("alice", "refuse"), ("alice", "complete"), ("lead", "merge")]


def test_the_story_is_told_in_words_with_times(team: Team, lead: Stores) -> None:
    run = opened(lead)
    one_task_done(team, lead, run)
    text = render(make_report(team, lead.tasks, run))
    assert "  03:04:05  alice~2    was turned back with Round money\n" in text
    assert "  03:04:05  lead~1     merged Round money" in text


def test_tasks_of_another_run_are_not_told(team: Team, lead: Stores) -> None:
    one_task_done(team, lead, opened(lead))
    report = make_report(team, lead.tasks, RUN)
    assert (report.tasks, report.steps) == ((), ())


def test_usage_adds_up_by_name_over_incarnations_and_whatever_a_clock_says(
    team: Team, lead: Stores, clock: FakeClock
) -> None:
    run = opened(lead)
    clock.jump(-3600)
    call = {"calls": 1, "input_tokens": 10, "output_tokens": 2}
    for who in ("lead~1", "alice~2", "alice~5"):
        EventLog(team.directory, clock, who).record("model_call", run=run.id, usage=call)
    EventLog(team.directory, clock, "bob~1").record("model_call", usage=call, run="run_00000009")
    used = make_report(team, lead.tasks, run).usage
    assert used["alice"] == Usage(calls=2, input_tokens=20, output_tokens=4)
    assert used["lead"].calls == 1
    assert "bob" not in used


def test_a_story_is_told_in_the_order_of_the_versions_where_a_clock_jumped_back(
    team: Team, lead: Stores, clock: FakeClock
) -> None:
    run = opened(lead)
    (task,) = lead.tasks.publish([lead.tasks.create([TaskDraft(subject="A", run=run.id)])[0].id])
    alice = comes_alive(team, "alice")
    own = stores_of(team, alice).tasks
    token = own.claim(task.id, claimant(alice)).token or 0
    clock.advance(60)
    own.refuse(task.id, token, TaskResult())
    clock.jump(-3600)
    own.release(task.id, token, "stop")
    steps = make_report(team, lead.tasks, run).steps
    assert [step.event for step in steps] == ["claim", "refuse", "release"]


def test_usage_in_a_damaged_event_costs_no_report(team: Team, lead: Stores) -> None:
    run, log = opened(lead), EventLog(team.directory, team.clock, "alice~2")
    for usage in ({"calls": "x"}, None, "x", {}, {"calls": 1}):
        log.record("model_call", usage=usage, run=run.id)
    assert make_report(team, lead.tasks, run).usage["alice"].calls == 1


def test_money_is_told_by_the_price_table_with_the_models_that_answered(team: Team, lead: Stores) -> None:
    run = opened(lead)
    usage = {"calls": 1, "input_tokens": 1_000_000, "output_tokens": 100_000, "cache_read_tokens": 1_000_000}
    log = EventLog(team.directory, team.clock, "alice~2")
    log.record("model_call", usage=usage, run=run.id, model="big-2")
    shown = render(make_report(team, lead.tasks, run, prices=["big 3 15"]))
    assert ("  4.8000  " in shown, "over" in shown, ESTIMATED in shown) == (True, False, True)
    log.record("model_call", usage=usage, run=run.id, model="other")
    report = make_report(team, lead.tasks, run, prices=["big 3 15"])
    assert to_json(report)["usd"]["alice"] == pytest.approx(3 + 1.5 + 0.3)
    assert report.models["alice"] == ["big-2", "other"]
    assert "over 4.8000" in render(report)
    unpriced = make_report(team, lead.tasks, run)
    assert to_json(unpriced)["usd"]["alice"] is None
    assert ESTIMATED not in render(unpriced)


def test_the_table_shows_what_each_member_used_and_completed(team: Team, lead: Stores) -> None:
    run = opened(lead)
    one_task_done(team, lead, run)
    usage = {"calls": 3, "input_tokens": 400, "cache_read_tokens": 5000, "output_tokens": 60}
    usage |= {"cache_write_tokens": 70}
    EventLog(team.directory, team.clock, "alice~2").record("model_call", run=run.id, usage=usage)
    row = next(line for line in render(make_report(team, lead.tasks, run)).splitlines() if "5000" in line)
    assert row.split() == ["alice", "3", "400", "5000", "70", "60", "unknown", "Round", "money"]


def test_the_report_lies_beside_the_run_as_json(team: Team, lead: Stores) -> None:
    run = opened(lead)
    task = one_task_done(team, lead, run)
    report = make_report(team, lead.tasks, run, "All is well.")
    save_report(team, report)
    facts = json.loads((team.root / layout.report(run.id)).read_text(encoding="utf-8"))
    assert facts == json.loads(json.dumps(to_json(report)))
    assert (facts["open"], facts["unverified"], facts["summary"]) == ([], [], "All is well.")
    assert [step["event"] for step in facts["steps"] if step["task"] == task.id][-1] == "merge"
