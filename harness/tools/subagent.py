"""The tool that gives a piece of work to a sub-agent and brings its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.tool import Effect, Tool, ToolContext, closed

if TYPE_CHECKING:
    from harness.subagents.kinds import Kind
    from harness.subagents.subagents import Subagents

DEFAULT_KIND = "general"
DESCRIPTION = """\
Let a sub-agent do a piece of work and get its report. It is no task of the board: nothing is claimed, \
checked or merged by it. The sub-agent knows only what you write, works in your directory under your \
permissions, asks nobody, and starts none itself. Several calls in one reply work side by side.
Kinds:
{kinds}"""


def task_tool(subagents: Subagents) -> Tool:
    """`task`: neighbouring calls run at the same time, as many as the setting says."""

    async def run(args: dict[str, Any], context: ToolContext) -> str:
        return await subagents.run(args.get("kind", DEFAULT_KIND), args["description"], context)

    fields = {
        "description": {
            "type": "string",
            "minLength": 1,
            "description": "all that it has to know: the work, the files, and what the report must say",
        },
        "kind": {
            "type": "string",
            "enum": list(subagents.kinds),
            "description": f"{DEFAULT_KIND} when not given",
        },
    }
    return Tool(
        name="task",
        description=DESCRIPTION.format(kinds="\n".join(map(_line, subagents.kinds.values()))),
        input_schema=closed(fields, required=["description"]),
        run=run,
        effect=Effect.READ,  # of itself; what the sub-agent does passes the gates call by call
        at_once=subagents.at_once,
    )


def _line(kind: Kind) -> str:
    return f"- {kind.name}: {kind.purpose}"
