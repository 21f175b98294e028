"""The tool with which the model asks for a shorter history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.tool import Effect, Tool, ToolContext, closed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def compact_tool(ask: Callable[[str], Awaitable[None]]) -> Tool:
    """`ask` makes durable what the summary must keep; it is made after all calls of the reply."""

    async def run(args: dict[str, Any], _: ToolContext) -> str:
        await ask(args.get("focus", ""))
        return "the history is summed up after the calls of this reply; what you need of it stays in a file"

    return Tool(
        name="compact",
        description=(
            "Sum up the history when much of it is no longer needed, such as after a finished part of the "
            "work. It happens by itself when room runs out."
        ),
        input_schema=closed(
            {"focus": {"type": "string", "description": "what the summary must keep above all"}}
        ),
        run=run,
        effect=Effect.TEAM,
    )
