"""The lead's tool that makes a worktree beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.tool import Effect, Tool, ToolContext, closed
from harness.tools.tasks import TASK_ID

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from harness.off_loop import OffLoop

NAME = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_-]{1,64}$",
    "maxLength": 64,
    "description": "name of the worktree's directory",
}


def create_worktree(off_loop: OffLoop, make: Callable[[str, str], Path]) -> Tool:
    """`make` is given the name and the task, and says where the tree is."""

    async def run(args: dict[str, Any], _: ToolContext) -> str:
        path = await off_loop(make, args["name"], args["task_id"])
        return f"Worktree '{args['name']}' created at {path} for task {args['task_id']}"

    return Tool(
        name="create_worktree",
        description=(
            "Make a worktree with a name of your choice for a task that nobody has claimed; whoever claims "
            "the task works in it. Not needed as a rule: without it each holder gets a worktree of its own."
        ),
        input_schema=closed({"name": NAME, "task_id": TASK_ID}, required=("name", "task_id")),
        run=run,
        effect=Effect.TEAM,
    )
