"""The tool that loads a skill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio import to_thread

from harness.skills.active import LOAD_SKILL
from harness.tool import Effect, Tool, ToolContext, closed

if TYPE_CHECKING:
    from harness.skills.loading import SkillLoader
    from harness.tool import Record


def load_skill(loader: SkillLoader, record: Record) -> Tool:
    """`load_skill`; every load is told to the audit trail with digest and source."""

    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        loaded = await to_thread.run_sync(
            lambda: loader.load(arguments["name"], arguments.get("resources", ()), call_id=context.call_id)
        )
        skill = loaded.skill
        record(
            "skill_loaded",
            skill=skill.name,
            source=skill.source,
            digest=skill.digest,
            resources=list(loaded.resources),
            body=loaded.is_new,
        )
        return loaded.text

    fields = {
        "name": {"type": "string", "minLength": 1, "description": "As the list of skills has it."},
        "resources": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Files of the skill to load as well, by the paths that it lists.",
        },
    }
    return Tool(
        name=LOAD_SKILL,
        description="Load the instructions of a skill, and those of its files that you name.",
        input_schema=closed(fields, required=("name",)),
        run=run,
        effect=Effect.TEAM,  # no file, no world; and two of one reply must not race for the budget
        is_bounded=True,
    )
