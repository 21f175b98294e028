"""Two teammates on one file, from the news of a merge under one of them to its work done again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout

if TYPE_CHECKING:
    from tests.process.conftest import Stages


ONE_FILE = """
  - when: {system: role=teammate, last_user: was done before, tools_called: ^$}
    call: {edit_file: {path: a.py, old_text: 'a = 2', new_text: "a = 2\\nb = 3"}}
  - when: {system: role=teammate, last_user: was done before, tools_called: ^edit_file$}
    call: {complete_task: {summary: both}}
  - when: {system: role=teammate, last_user: Assigned.*change b, tools_called: ^$}
    call: {edit_file: {path: a.py, old_text: 'a = 1', new_text: "b = 3"}}
  - when: {system: role=teammate, last_user: Assigned.*change b, tools_called: ^edit_file$}
    call: {bash: {command: '@WAIT@'}}
  - when: {system: role=teammate, last_user: 'type="branch_moved".*the same files: a.py', tools_called: bash$}
    say: I know, and hand it in as it is.
    call: {complete_task: {summary: 'b'}}
  - when: {system: role=teammate, last_user: change a, tools_called: ^$}
    call: {bash: {command: 'until [ -e @PLACE@/begin ]; do sleep 0.05; done'}}
  - when: {system: role=teammate, last_user: change a, tools_called: ^bash$}
    call: {edit_file: {path: a.py, old_text: 'a = 1', new_text: 'a = 2'}}
  - when: {system: role=teammate, tools_called: edit_file$}
    call: {complete_task: {summary: done}}
  - when: {system: role=teammate}
    say: Done.
"""


def test_a_merge_under_a_busy_teammate_is_told_and_its_conflict_done_again(staged: Stages) -> None:
    stage = staged(ONE_FILE)
    tasks = [{"key": name, "subject": f"change {name}", "checks": ["any"]} for name in ("b", "a")]
    run = stage.start_tasks(*tasks, workers=2)
    stage.until("tool_ran", tool="edit_file")
    (stage.place / "begin").touch()
    stage.until("merged", subject="change a")
    stage.wait((stage.root / layout.sent(stage.owner("change b"), "lead~1")).exists, "the news")
    stage.let_go()
    ended = run.end()
    assert ended.code == 0, ended

    (back,) = stage.events("sent_back")
    assert back["subject"] == "change b"
    assert "it conflicts with leadhand/run_" in back["why"]
    assert [task.subject for task in stage.stores.tasks.all()] == ["change b", "change a", "change b"]
    branch = ended.event("report")["branch"]
    assert stage.person.git("show", f"{branch}:a.py") == "a = 2\nb = 3"
    assert stage.leadhand("merge").out == "nothing waits for its merge\n"
    story = stage.leadhand("tasks", "show", back["task"]).out
    assert f"sent_back    lead~1  {back['why']}; done again in {back['again']}" in story
