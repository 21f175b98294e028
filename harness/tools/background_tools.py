"""The tools by which a model looks after its background commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.tool import Effect, Tool, ToolContext, closed
from harness.tools.background_news import one_line, standing

if TYPE_CHECKING:
    from harness.tools.background import Background

JOB_ID = {"type": "string", "pattern": "^bg_[0-9a-f]{8}$"}
MAX_LINES = 2000
LINES = 50  # of a tail, if not asked otherwise


def background_tools(background: Background) -> list[Tool]:
    """List, tail and kill."""
    return [_list_background(background), _tail_background(background), _kill_background(background)]


def _list_background(background: Background) -> Tool:
    async def run(_: dict[str, Any], __: ToolContext) -> str:
        return "\n".join(map(one_line, await background.started_here())) or "no background commands"

    return Tool(
        name="list_background",
        description="Show your background commands, and how those that ended did.",
        input_schema=closed({}),
        run=run,
        effect=Effect.TEAM,
    )


def _tail_background(background: Background) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        job, text = await background.tail(args["id"], args.get("lines", LINES))
        return f"{job.id} [{standing(job)}]\n{text or '(no output yet)'}"

    lines = {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "description": f"{LINES} when not given"}
    return Tool(
        name="tail_background",
        description="Show the last lines that a background command has printed so far.",
        input_schema=closed({"id": JOB_ID, "lines": lines}, required=("id",)),
        run=run,
        effect=Effect.TEAM,
    )


def _kill_background(background: Background) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        job = await background.kill(args["id"], "you asked for it")
        return f"{job.id} and everything it started is ended"

    return Tool(
        name="kill_background",
        description="End a background command with everything that it started.",
        input_schema=closed({"id": JOB_ID}, required=("id",)),
        run=run,
        effect=Effect.TEAM,
    )
