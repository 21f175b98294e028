"""The todo list of one conversation: what the model writes down to keep its own steps in view."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from harness.context.conversation import TODO_TOOL
from harness.tool import Effect, Tool, ToolContext, ToolFailure, closed, objection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from harness.tool import Arguments, Refusal

MOST = 20
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
ITEM = closed(
    {"content": {"type": "string", "minLength": 1}, "status": {"type": "string", "enum": list(MARKS)}},
    required=("content", "status"),
)


def todo_write(keep: Callable[[list[dict[str, Any]]], Awaitable[None]]) -> Tool:
    """`keep` makes the list durable; it replaces the one before as a whole."""

    async def run(args: dict[str, Any], _: ToolContext) -> str:
        todos = _items(args["todos"])
        await keep(todos)
        return shown(todos)

    return Tool(
        name=TODO_TOOL,
        description=(
            f"Write down the steps of your own work, {MOST} at most, one of them in progress. Each call "
            "replaces the whole list. It is for you alone; the team's tasks are on the board."
        ),
        input_schema=closed(
            {
                "todos": {
                    "anyOf": [
                        {"type": "array", "items": ITEM, "maxItems": MOST},
                        {"type": "string", "description": "the same array as JSON text"},
                    ]
                }
            },
            required=("todos",),
        ),
        run=run,
        effect=Effect.TEAM,
        semantic=_fault,
    )


def shown(todos: list[dict[str, Any]]) -> str:
    """The list with a mark for each step, and how many are done."""
    done = sum(todo["status"] == "completed" for todo in todos)
    lines = [f"{MARKS[todo['status']]} {todo['content']}" for todo in todos]
    return "\n".join([*lines, f"({done}/{len(todos)} completed)"])


def _fault(args: Arguments) -> Refusal | None:
    try:
        _items(args["todos"])
    except ToolFailure as error:
        return objection(error.code, error.detail)
    return None


def _items(given: object) -> list[dict[str, Any]]:
    """The steps; some models write the array as text. Raises ToolFailure, and evaluates nothing."""
    items = _parsed(given) if isinstance(given, str) else given
    if not isinstance(items, list):
        raise ToolFailure(code="not_a_list", detail="todos must be an array of {content, status}")
    if len(items) > MOST:
        raise ToolFailure(code="too_many", detail=f"{len(items)} steps; keep it to {MOST}")
    for place, item in enumerate(items):
        _check(place, item)
    if sum(item["status"] == "in_progress" for item in items) > 1:
        raise ToolFailure(code="several_in_progress", detail="only one step may be in progress")
    return [{"content": item["content"].strip(), "status": item["status"]} for item in items]


def _check(place: int, item: object) -> None:
    if not isinstance(item, dict) or set(item) != {"content", "status"}:
        raise ToolFailure(code="bad_item", detail=f"todos[{place}] must have content and status")
    if not isinstance(item["content"], str) or not item["content"].strip():
        raise ToolFailure(code="blank_content", detail=f"todos[{place}].content is blank")
    if item["status"] not in MARKS:
        raise ToolFailure(code="bad_status", detail=f"todos[{place}].status is none of {', '.join(MARKS)}")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)  # literals only, never an expression
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ToolFailure(code="not_a_list", detail=f"todos is no array in JSON: {error}") from error
