"""T95-T100."""

from __future__ import annotations

from typing import Any

import pytest

from harness.context.conversation import Conversation
from harness.context.reminder import REMINDER
from harness.journal import read
from harness.loop import Incoming
from harness.tools.todo import todo_write
from tests.support.model import JOURNAL, AgentUnderTest, FakeModel, FakePool, calls, says
from tests.support.tools import call, pool

STEPS = [{"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}]


pytestmark = pytest.mark.anyio


class Kept:
    def __init__(self) -> None:
        self.lists: list[list[dict[str, Any]]] = []

    async def __call__(self, todos: list[dict[str, Any]]) -> None:
        self.lists.append(todos)


async def write(todos: object, kept: Kept, tmp_path: Any) -> dict[str, Any]:
    return (await pool([todo_write(kept)], tmp_path).run([call("todo_write", "c", todos=todos)]))[0]


@pytest.mark.parametrize(
    "written",
    [STEPS, '[{"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}]'],
)  # T95
async def test_an_array_is_accepted_also_as_text(written: object, tmp_path: Any) -> None:
    kept = Kept()
    result = await write(written, kept, tmp_path)
    assert kept.lists == [STEPS]
    assert result["content"] == "[x] read\n[>] write\n(1/2 completed)"  # T98


async def test_a_python_literal_is_accepted(tmp_path: Any) -> None:  # T96
    kept = Kept()
    await write("[{'content': 'read', 'status': 'pending'}]", kept, tmp_path)
    assert kept.lists == [[{"content": "read", "status": "pending"}]]


async def test_an_expression_is_refused_and_never_evaluated(tmp_path: Any) -> None:  # T97
    kept, trap = Kept(), tmp_path / "trap"
    result = await write(f"[open({str(trap)!r}, 'w')]", kept, tmp_path)
    assert result["is_error"]
    assert result["content"].startswith("[semantic/not_a_list]")
    assert (kept.lists, trap.exists()) == ([], False)


@pytest.mark.parametrize(
    "todos",
    [
        [{"content": " ", "status": "pending"}],
        [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}],
        [{"content": f"step {n}", "status": "pending"} for n in range(21)],
        [{"content": "a", "status": "maybe"}],
        '["a"]',
        "{}",
    ],
)
async def test_a_list_that_breaks_the_rules_leaves_the_old_one(todos: object, tmp_path: Any) -> None:  # T99
    kept = Kept()
    assert (await write(todos, kept, tmp_path))["is_error"]
    assert kept.lists == []


class TodoPool(FakePool):
    @property
    def schemas(self) -> list[dict[str, Any]]:
        return [{"name": "todo_write"}, *super().schemas]


async def test_the_reminder_comes_once_with_the_third_batch(team: Any) -> None:  # T100
    under = AgentUnderTest(team, FakeModel(*[calls("look")] * 7, says("done")), TodoPool())
    await under.agent.run([Incoming(text="go")])
    reminded = [REMINDER in str(request.messages[-1]) for request in under.model.requests]
    assert reminded == [False, False, False, True, False, False, False, False]


@pytest.mark.parametrize("batches", [2, 3, 4])
async def test_a_reminder_that_a_kill_cut_off_comes_when_another_process_goes_on(
    team: Any, batches: int
) -> None:
    under = AgentUnderTest(team, FakeModel(*[calls("look")] * batches, says("done")), TodoPool())
    await under.agent.run([Incoming(text="go")])
    lines = list(read(team.directory, JOURNAL))
    last = max(n for n, line in enumerate(lines) if line["kind"] == "tool_results")
    left = Conversation.of(lines[:last])  # its calls are of unknown outcome
    await under.agent.go_on(left)
    assert str(under.agent.messages).count(REMINDER) == (batches > 2)
    assert (REMINDER in str(under.agent.messages[-1])) == (batches == 3)


async def test_a_look_at_the_todos_starts_the_count_again(team: Any) -> None:  # T100
    replies = [calls("look"), calls("look"), calls("todo_write"), *[calls("look")] * 3, says("done")]
    under = AgentUnderTest(team, FakeModel(*replies), TodoPool())
    await under.agent.run([Incoming(text="go")])
    reminded = [REMINDER in str(request.messages[-1]) for request in under.model.requests]
    assert reminded == [False] * 6 + [True]


async def test_without_the_tool_nobody_is_reminded_of_it(team: Any) -> None:
    under = AgentUnderTest(team, FakeModel(*[calls("look")] * 5, says("done")))
    await under.agent.run([Incoming(text="go")])
    assert REMINDER not in str(under.agent.messages)


async def test_the_list_is_in_the_journal_and_outlives_the_process_but_not_the_task(team: Any) -> None:
    under = AgentUnderTest(team, FakeModel(says("done")))
    await under.agent.begin("a task", about="task_1")
    await under.agent.note_todos(STEPS)
    left = Conversation.of(read(team.directory, JOURNAL))
    assert (left.todos, left.about) == (STEPS, "task_1")
    await under.agent.go_on(left)
    assert under.agent.conversation.todos == STEPS
    await under.agent.begin("the next")
    assert under.agent.conversation.todos == []
