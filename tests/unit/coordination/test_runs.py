"""Goals and what became of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec
import pytest

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.numbered_log import Record, pretty, seal
from coordination.protocols import TermOver
from coordination.records import Run
from coordination.runs import TRANSITIONS, InvalidRunChange, RunRules, Runs, UnknownRun

if TYPE_CHECKING:
    from coordination.team_root import Team
    from tests.support.clock import FakeClock


@pytest.fixture
def runs(team: Team) -> Runs:
    return Runs(team, "lead~1", lambda: 1)


def test_a_run_is_opened_with_its_goal_and_found_by_its_id(team: Team, runs: Runs) -> None:
    run = runs.open("make it work", branch="leadhand/x", workers=3, checks={"unit": "pytest"})
    assert layout.RUN_ID.fullmatch(run.id)
    assert (run.goal, run.state, run.term, run.workers) == ("make it work", "open", 1, 3)
    assert Runs(team, "person").get(run.id) == run


@pytest.mark.parametrize("run", ["run_00000000", "../lead", "run_1", ""])
def test_an_unknown_run_is_an_error_that_lists_the_known(runs: Runs, run: str) -> None:
    known = runs.open("a")
    with pytest.raises(UnknownRun, match=f"known are: {known.id}"):
        runs.get(run)
    with pytest.raises(UnknownRun):
        runs.update(run, state="done")


def test_runs_are_listed_by_age(runs: Runs, clock: FakeClock) -> None:
    for goal in ("a", "b", "c"):
        runs.open(goal)
        clock.advance(1)
    assert [run.goal for run in runs.all()] == ["a", "b", "c"]


def test_the_open_run_is_the_newest_that_is_not_over(runs: Runs, clock: FakeClock) -> None:
    assert runs.open_run() is None
    first = runs.open("a")
    clock.advance(1)
    second = runs.open("b")
    assert runs.open_run() == second
    runs.update(second.id, state="done")
    assert runs.open_run() == first


def test_an_update_keeps_goal_and_time(runs: Runs, clock: FakeClock) -> None:
    run = runs.open("a")
    clock.advance(60)
    after = runs.update(run.id, branch="leadhand/x", confirmed=True)
    assert (after.goal, after.at, after.branch, after.confirmed) == ("a", run.at, "leadhand/x", True)


def test_a_stopped_run_is_taken_up_again_and_a_done_one_is_not(runs: Runs) -> None:
    run = runs.open("a")
    runs.update(run.id, state="stopped")
    assert runs.update(run.id, state="open").state == "open"
    runs.update(run.id, state="done")
    with pytest.raises(InvalidRunChange, match="is done and cannot become open"):
        runs.update(run.id, state="open")


def test_a_lead_whose_term_is_over_changes_no_run(team: Team, runs: Runs) -> None:
    run = runs.open("a")
    Runs(team, "lead~4", lambda: 4).update(run.id)
    with pytest.raises(TermOver):
        runs.update(run.id, state="done")
    assert Runs(team, "person").update(run.id, state="stopped").term == 4


@pytest.mark.parametrize(("before", "after"), list(itertools.product([*TRANSITIONS], ["open", "done", "x"])))
def test_the_table_decides_which_state_may_follow(before: str | None, after: str) -> None:
    was = Run(id="run_00000001", goal="a", state=before) if before else None
    record = Record(
        number=2, prev=1, commit_id="c", body=Run(id="run_00000001", goal="a", state=after).to_json()
    )
    if after in TRANSITIONS[before]:
        RunRules("run_00000001").check(was, record)
    else:
        with pytest.raises(InvalidRecord):
            RunRules("run_00000001").check(was, record)


@pytest.mark.parametrize("change", [{"goal": "b"}, {"at": "later"}, {"id": "run_00000002"}, {"term": 0}])
def test_a_forged_version_does_not_count(team: Team, runs: Runs, change: dict[str, str]) -> None:
    run = runs.open("a")
    body = run.to_json() | change
    document = seal(f"run/{run.id}", body, number=2, prev=1, commit_id="c")
    (team.root / layout.record(layout.run_log(run.id), 2)).write_bytes(pretty(document))
    assert runs.get(run.id) == run


def test_fields_of_a_later_format_are_kept(team: Team, runs: Runs) -> None:
    run = msgspec.structs.replace(runs.open("a"), unknown={"colour": "red"})
    document = seal(f"run/{run.id}", run.to_json(), number=2, prev=1, commit_id="c")
    (team.root / layout.record(layout.run_log(run.id), 2)).write_bytes(pretty(document))
    assert runs.update(run.id, state="done").unknown == {"colour": "red"}
