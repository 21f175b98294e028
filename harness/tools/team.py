"""Tools for the people of the team: start them, talk to them, judge their plans, stop them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from harness.tool import Effect, Tool, ToolContext, closed
from harness.tools.tasks import TASK_ID

if TYPE_CHECKING:
    from coordination.roster import Roster
    from harness.off_loop import OffLoop

NAME = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": "name of a teammate"}
REQUEST_ID = {"type": "string", "pattern": "^req_[0-9a-f]{8}$"}


class Leading(Protocol):
    """What only the lead's host can do for its model."""

    async def spawn(self, args: dict[str, Any]) -> str:
        """A teammate of that name is starting; says so."""
        ...

    async def require_plan(self, teammate: str, what: str) -> str:
        """The teammate changes nothing before a plan of it is approved; it has been told."""
        ...

    async def review_plan(self, request_id: str, *, approve: bool, feedback: str) -> str:
        """The plan has its one decision, and its author has been told."""
        ...

    async def request_shutdown(self, teammate: str) -> str:
        """The teammate was asked to stop; it ends on its own or is ended after the grace."""
        ...


class Planner(Protocol):
    """What a teammate's host does with a plan."""

    async def submit_plan(self, plan: str, scope: dict[str, Any] | None = None) -> str:
        """The plan is before its reviewer, with the scope that it keeps to."""
        ...


def lead_tools(roster: Roster, off_loop: OffLoop, leading: Leading) -> list[Tool]:
    """What the lead alone may do with people."""
    return [
        _spawn_teammate(leading),
        _list_teammates(roster, off_loop),
        _request_plan(leading),
        _review_plan(leading),
        _request_shutdown(leading),
    ]


def submit_plan(planner: Planner) -> Tool:
    """The teammate's way through the plan gate."""

    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await planner.submit_plan(args["plan"], args.get("scope"))

    names = {"type": "array", "items": {"type": "string", "minLength": 1}}
    scope = closed({"paths": names, "commands": names}) | {
        "description": (
            "What you will change and nothing else: globs such as src/**/*.py, and commands such as "
            "`make *`. Once approved, the host refuses everything outside of it."
        )
    }

    return Tool(
        name="submit_plan",
        description=(
            "Put a plan for your task before its reviewer: what you will change, where, and how you will "
            "know it works. You go on when it is decided; until then you can read but change nothing."
        ),
        input_schema=closed({"plan": {"type": "string", "minLength": 1}, "scope": scope}, required=("plan",)),
        run=run,
        effect=Effect.TEAM,
        ends_turn=True,
    )


def _spawn_teammate(leading: Leading) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await leading.spawn(args)

    properties = {
        "name": NAME,
        "role": {"type": "string", "minLength": 1, "description": "what it is good at; tasks may name roles"},
        "task_id": {**TASK_ID, "description": "reserve this task for it; else it takes what is ready"},
        "require_plan": {"type": "boolean", "description": "it changes nothing before an approved plan"},
    }
    return Tool(
        name="spawn_teammate",
        description=(
            "Start a teammate process. It claims ready tasks one after another, each in a worktree of its "
            "own. Plan the whole graph first: tasks, edges, checks. Then end your turn; results come as mail."
        ),
        input_schema=closed(properties, required=("name",)),
        run=run,
        effect=Effect.TEAM,
    )


def _list_teammates(roster: Roster, off_loop: OffLoop) -> Tool:
    async def run(_: dict[str, Any], __: ToolContext) -> str:
        members = await off_loop(roster.all)
        rows = [
            f"{member.name} [{member.state}] role {member.role}"
            + (f", waits for {member.waiting_on}" if member.waiting_on else "")
            for member in members
        ]
        return "\n".join(rows) or "no teammates yet"

    return Tool(
        name="list_teammates",
        description="Show who is on the team and whether they are alive.",
        input_schema=closed({}),
        run=run,
        effect=Effect.TEAM,
    )


def _request_plan(leading: Leading) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await leading.require_plan(args["teammate"], args["what"])

    what = {"type": "string", "minLength": 1, "description": "what the plan should answer"}
    return Tool(
        name="request_plan",
        description="Stop a teammate from changing anything until you have approved a plan of it.",
        input_schema=closed({"teammate": NAME, "what": what}, required=("teammate", "what")),
        run=run,
        effect=Effect.TEAM,
    )


def _review_plan(leading: Leading) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await leading.review_plan(
            args["request_id"], approve=args["approve"], feedback=args.get("feedback", "")
        )

    return Tool(
        name="review_plan",
        description="Approve or reject a submitted plan, once. A rejection needs feedback to act on.",
        input_schema=closed(
            {"request_id": REQUEST_ID, "approve": {"type": "boolean"}, "feedback": {"type": "string"}},
            required=("request_id", "approve"),
        ),
        run=run,
        effect=Effect.TEAM,
    )


def _request_shutdown(leading: Leading) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await leading.request_shutdown(args["teammate"])

    return Tool(
        name="request_shutdown",
        description="Ask a teammate to stop. Its unfinished task goes back to the board.",
        input_schema=closed({"teammate": NAME}, required=("teammate",)),
        run=run,
        effect=Effect.TEAM,
    )
