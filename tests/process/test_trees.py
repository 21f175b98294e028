"""A run in whose trees the project has to be made to run first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.layout import LOGS
from coordination.records import Status

if TYPE_CHECKING:
    from tests.process.conftest import Stages


SHOWS_VARIABLES = """
  - when: {tools_called: ^$}
    call: {bash: {command: 'cat tool; echo "a = 2 # $LEADHAND_TASK $LEADHAND_PORT $LEADHAND_PORTS" > a.py'}}
  - when: {tools_called: bash$}
    call: {complete_task: {summary: a is 2 now}}
  - say: Done.
"""
SET_A = {"key": "a", "subject": "set a", "checks": ["tool", "done"]}
CHECKS = "checks: {tool: cat tool, done: grep -q 'a = 2' a.py}\n"


def test_the_project_runs_in_the_tree_of_the_task_and_in_that_of_its_checks(staged: Stages) -> None:
    stage = staged(SHOWS_VARIABLES)
    ignored = "/tool\n/local.txt\n"
    stage.person.write({".gitignore": ignored, ".worktreeinclude": "*.txt\n", "local.txt": "mine\n"})
    stage.person.write({"leadhand.yaml": f"{CHECKS}worktrees: {{setup: [cat local.txt > tool]}}\n"})
    stage.person.git("add", ".gitignore")
    stage.person.git("commit", "--quiet", "--message", "Ignore")
    ended = stage.start_tasks(SET_A).end()
    assert ended.code == 0, ended
    task = stage.task("set a")
    first, last = stage.person.git("show", f"{task.merged}:a.py").split(" # ")[1].split()[1:]
    assert int(first) >= 20_000
    assert last == "10"
    assert stage.person.git("show", f"{task.merged}:a.py").split()[4] == task.id
    assert [check.output for check in (task.result and task.result.checks) or ()] == ["mine", ""]
    (kept,) = stage.events("tree_kept")  # `tool` is ignored by git and is nowhere else
    assert (kept["code"], kept["why"].endswith("ignores: tool")) == ("ignored_files", True)


def test_the_tree_of_merged_work_is_gone_at_the_end_of_the_run(staged: Stages) -> None:
    stage = staged(SHOWS_VARIABLES.replace("cat tool; ", ""))
    ended = stage.start_tasks({**SET_A, "checks": ["done"]}).end()
    assert ended.code == 0, ended
    task = stage.task("set a")
    assert [event["task"] for event in stage.events("tree_removed")] == [task.id]
    assert not (stage.root / str(task.worktree)).exists()
    assert stage.person.git("rev-parse", task.branch or "") == task.commit


def test_a_set_up_that_fails_shows_its_log_and_counts_no_attempt_while_the_run_waits(staged: Stages) -> None:
    stage = staged(SHOWS_VARIABLES)
    setup = "worktrees: {setup: [echo fine, 'echo no such package; exit 9']}\n"
    stage.person.write({"leadhand.yaml": f"{CHECKS}{setup}"})
    ended = stage.start_tasks(SET_A, options=("--yes",)).end()
    assert ended.code == 3, ended
    task = stage.task("set a")
    assert (task.attempts, task.refusals, task.owner) == (0, 0, None)
    assert {"release"} == set(stage.history("set a")) & {"release", "reclaim", "refuse", "bind"}
    assert task.status is Status.PENDING  # the run goes on once the person has mended that
    assert "exit code 9" in ended.out
    assert "no such package" in ended.out
    log = next((stage.root / LOGS).glob("setup-task_*.log"))
    assert f"{LOGS}/{log.name}" in ended.out
    assert "$ echo fine\nfine\n[exit code 0" in log.read_text("utf-8")
    assert "no such package\n[exit code 9" in log.read_text("utf-8")
    stage.nobody_is_left()
