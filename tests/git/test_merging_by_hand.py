"""`leadhand merge`: what waits is shown, and the person's word merges it with every proof."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from click.testing import CliRunner

from coordination.records import TaskResult
from orchestrator.cli.bring_back import merge
from orchestrator.inspection.report import make_report, render
from tests.support.bringing_back import Returns
from tests.support.people import claimant, stores_of

if TYPE_CHECKING:
    from coordination.records import Task
    from tests.support.repository import Repository


@pytest.fixture
def returns(repository: Repository) -> Returns:
    return Returns(repository)


def leadhand_merge(returns: Returns, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(merge, ["--team", str(returns.team.root), *arguments], standalone_mode=False)
    code = result.return_value if result.exception is None else 2
    return code, result.output.strip() or str(result.exception)


def unverified(returns: Returns, *files: str) -> Task:
    tasks = stores_of(returns.team, returns.alice).tasks
    token = tasks.claim(returns.task("Tidy up").id, claimant(returns.alice)).token or 0
    commit = returns.repository.commit(dict.fromkeys(files, ""), parent=returns.run.base)
    (task,) = [task for task in tasks.all() if task.subject == "Tidy up"]
    return tasks.complete(task.id, token, commit=commit, branch="b", result=TaskResult())[0]


def waits(returns: Returns) -> dict[str, str]:
    _, out = leadhand_merge(returns, "--json")
    rows: list[dict[str, Any]] = json.loads(out)
    return {row["task"]: row["why"] for row in rows}


def test_nothing_waits_once_all_is_merged(returns: Returns) -> None:
    returns.work("a")
    anyio.run(returns.bring_all_back)
    assert leadhand_merge(returns) == (0, "nothing waits for its merge")


def test_what_waits_is_shown_with_the_reason(returns: Returns) -> None:
    lost = returns.done(returns.task(checks=("fine",)), "0" * 40)
    anyio.run(returns.bring_all_back)
    tidied, fresh = unverified(returns, "t"), returns.work("a")
    found = waits(returns)
    assert found[lost.id].startswith("there is no commit 0000")
    assert found[tidied.id] == "unverified: no check proves it"
    assert found[fresh.id] == "the lead has not come to it yet"


def test_work_without_checks_is_merged_by_the_persons_word(returns: Returns) -> None:
    task = unverified(returns, "t")
    anyio.run(returns.bring_all_back)
    assert returns.git.tip(returns.run.branch) is None
    code, out = leadhand_merge(returns, task.id)
    tip = returns.repository.git("rev-parse", returns.run.branch)
    assert (code, out) == (
        0,
        f"merged Tidy up into {returns.run.branch} as {tip:.10} (unverified: no check proves it)",
    )
    assert returns.lead.tasks.get(task.id).merged == tip
    assert waits(returns) == {}


@pytest.mark.parametrize(
    "file", ["leadhand.yaml", "sub/.gitattributes", ".github/workflows/ci.yml", ".mcp.json", ".gitmodules"]
)
def test_what_decides_about_the_machine_waits_for_the_person(returns: Returns, file: str) -> None:
    task = returns.work(file)
    anyio.run(returns.bring_all_back)
    assert waits(returns)[task.id] == (
        f"it changes {file}, which decides what runs or is allowed on your machine or in CI; "
        f"look with `git show {task.commit:.10}`, then `leadhand merge {task.id}`"
    )
    report = render(make_report(returns.team, returns.lead.tasks, returns.run))
    assert f"open: {task.id} [completed] Add {file} - it changes {file}, which decides" in report
    assert leadhand_merge(returns, task.id)[0] == 0
    assert file in returns.on_branch()


def test_red_checks_and_conflicts_are_refused_by_hand_too(returns: Returns) -> None:
    red, first, clash = (
        returns.work("r", check="red"),
        returns.work("a", text="1"),
        returns.work("a", text="2"),
    )
    assert leadhand_merge(returns, first.id)[0] == 0
    before = returns.repository.git("rev-parse", returns.run.branch)
    code, out = leadhand_merge(returns, red.id)
    assert (code, "its checks fail: red" in out) == (1, True)
    code, out = leadhand_merge(returns, clash.id, "--json")
    assert (code, json.loads(out)["merged"]) == (1, None)
    assert "it conflicts with" in out
    assert returns.repository.git("rev-parse", returns.run.branch) == before


def test_a_merge_that_the_person_made_with_git_is_only_noted(returns: Returns) -> None:
    task = returns.work("a")
    returns.repository.git("branch", returns.run.branch, str(task.commit))
    code, out = leadhand_merge(returns, task.id)
    assert (code, "the branch held it before" in out) == (0, True)
    assert returns.lead.tasks.get(task.id).merged == task.commit


def test_what_cannot_be_merged_is_refused_with_the_reason(returns: Returns) -> None:
    opened, merged = returns.task("Open"), returns.work("a")
    leadhand_merge(returns, merged.id)
    returns.work("b", text="1")
    clash = returns.work("b", text="2")
    anyio.run(returns.bring_all_back)
    assert "is pending; only completed work can be merged" in leadhand_merge(returns, opened.id)[1]
    assert "is merged already, as " in leadhand_merge(returns, merged.id)[1]
    assert "is done again in task_" in leadhand_merge(returns, clash.id)[1]


def test_the_lead_goes_on_after_a_merge_by_hand(returns: Returns) -> None:
    first, second = returns.work("a"), returns.work("b")
    leadhand_merge(returns, second.id)
    anyio.run(returns.bring_all_back)
    assert returns.merges() == ["Merge Add b", "Merge Add a"]
    assert all(returns.lead.tasks.get(task.id).merged for task in (first, second))
