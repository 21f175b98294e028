"""Tools for the task graph: plan it, look at it, claim from it, hand work in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from coordination.records import Status, Task
from coordination.tasks.drafts import TaskDraft
from harness.tool import Effect, Tool, ToolContext, closed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from coordination.tasks.store import TaskStore
    from harness.off_loop import OffLoop

TASK_ID = {
    "type": "string",
    "pattern": "^task_[0-9a-f]{8}$",
    "description": "id of a task, as the board shows it",
}
TASK_IDS = {"type": "array", "items": TASK_ID, "minItems": 1, "uniqueItems": True}


class Work(Protocol):
    """What a role does around claiming and handing in: the tree, the checks, the report."""

    async def claim(self, task_id: str) -> str:
        """The task is the caller's and has a tree; returns what the model should know of it."""
        ...

    async def complete(self, summary: str) -> str:
        """The task is proven and completed; returns what follows from it."""
        ...


@dataclass(frozen=True, kw_only=True)
class Planning:
    """What the lead plans for."""

    run: str  # id of the run that new tasks belong to
    checks: Collection[str]  # names that a model may give
    made: Callable[[Task], None]  # told of each new task
    max_attempts: int  # of each new task
    check_roles: Callable[[Sequence[str]], None] = lambda _: None  # raises for one that nobody can have


def unproven_note(task: Task) -> str:
    """What a row of the board says of completed work that no check proves; empty for all other."""
    if task.status is not Status.COMPLETED or (task.result and task.result.verified):
        return ""
    return "merged unverified" if task.merged else "unverified"


def one_line(task: Task) -> str:
    """A task as a row of the board."""
    notes = [f"owner {task.owner}"] if task.owner else []
    if task.blocked_by and not task.status.is_final:
        notes.append(f"blocked by {', '.join(task.blocked_by)}")
    if unproven := unproven_note(task):
        notes.append(unproven)
    if task.status is Status.FAILED and task.why:
        notes.append(task.why)
    return f"{task.id}  [{task.status}] {task.subject}" + (f"  ({'; '.join(notes)})" if notes else "")


def _in_full(task: Task) -> str:
    lines = [one_line(task), ""]
    if task.description:
        lines += [task.description, ""]
    for name, value in (
        ("checks", ", ".join(task.checks)),
        ("worktree", task.worktree),
        ("commit", task.commit),
    ):
        if value:
            lines.append(f"{name}: {value}")
    if task.result and task.result.text:
        lines += ["", "result:", task.result.text]
    return "\n".join(lines).rstrip()


def board_tools(
    store: TaskStore,
    off_loop: OffLoop,
    work: Work,
    *,
    run: Callable[[], str | None],
    hand_in_ends_turn: bool = False,
) -> list[Tool]:
    """What lead and teammates alike may do with tasks; the board is that of the present run.

    For a teammate nothing is left to say once its task is completed; a lead goes on leading.
    """
    return [
        _list_tasks(store, off_loop, run),
        _get_task(store, off_loop),
        _claim_task(work),
        _complete_task(work, ends_turn=hand_in_ends_turn),
    ]


def planning_tools(store: TaskStore, off_loop: OffLoop, plan: Planning) -> list[Tool]:
    """What the lead alone may do: make tasks and the edges between them."""
    return [_create_task(store, off_loop, plan), _update_task(store, off_loop, plan)]


def _list_tasks(store: TaskStore, off_loop: OffLoop, present: Callable[[], str | None]) -> Tool:
    def board() -> list[Task]:
        return store.all(present())

    async def run(_: dict[str, Any], __: ToolContext) -> str:
        tasks = await off_loop(board)
        return "\n".join(one_line(task) for task in tasks) or "no tasks yet"

    return Tool(
        name="list_tasks",
        description="Show the board: every task with its id, status, owner and what blocks it.",
        input_schema=closed({}),
        run=run,
        effect=Effect.TEAM,
    )


def _get_task(store: TaskStore, off_loop: OffLoop) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return _in_full(await off_loop(store.get, args["task_id"]))

    return Tool(
        name="get_task",
        description="Show one task in full: description, checks, result.",
        input_schema=closed({"task_id": TASK_ID}, required=("task_id",)),
        run=run,
        effect=Effect.TEAM,
    )


def _claim_task(work: Work) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await work.claim(args["task_id"])

    return Tool(
        name="claim_task",
        description=(
            "Take a ready task. You get a worktree of its own to work in. "
            "You can hold one task at a time; a refusal says who owns it or what blocks it."
        ),
        input_schema=closed({"task_id": TASK_ID}, required=("task_id",)),
        run=run,
        effect=Effect.TEAM,
    )


def _complete_task(work: Work, *, ends_turn: bool) -> Tool:
    async def run(args: dict[str, Any], _: ToolContext) -> str:
        return await work.complete(args["summary"])

    return Tool(
        name="complete_task",
        description=(
            "Hand in the task you hold. Your changes are committed and the task's checks are run on a clean "
            "checkout of that commit; only if they pass is the task completed. "
            "The summary says in a few sentences what you did."
        ),
        input_schema=closed({"summary": {"type": "string", "minLength": 1}}, required=("summary",)),
        run=run,
        effect=Effect.TEAM,
        ends_turn=ends_turn,
    )


def _editable(checks: Collection[str]) -> dict[str, Any]:
    names = sorted(checks)
    return {
        "subject": {"type": "string", "minLength": 1, "maxLength": 200, "description": "one line"},
        "description": {"type": "string", "description": "all a teammate must know; it sees nothing else"},
        "priority": {
            "type": "integer",
            "minimum": 0,
            "maximum": 9,
            "description": "0 is most urgent, 5 is usual",
        },
        "checks": {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "string", "enum": names} if names else False,
            "description": f"names of checks that prove the task; defined here: {', '.join(names) or 'none'}",
        },
        "roles": {
            "type": "array",
            "items": {"type": "string"},
            "description": "who may claim it; empty: anybody",
        },
    }


def _tuples(args: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Those arguments that carry one of the names, lists as the records keep them."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in args.items()
        if name in names
    }


def _create_task(store: TaskStore, off_loop: OffLoop, plan: Planning) -> Tool:
    fields = _editable(plan.checks)

    async def run(args: dict[str, Any], _: ToolContext) -> str:
        plan.check_roles(args.get("roles", ()))
        draft = TaskDraft(
            **_tuples(args, {*fields, "blocked_by"}),
            run=plan.run,
            plan_required=args.get("require_plan", False),
            max_attempts=plan.max_attempts,
        )
        (task,) = await off_loop(store.create, [draft])
        plan.made(task)
        return f"created {task.id}: {task.subject}"

    extra = {
        "blocked_by": {**TASK_IDS, "description": "tasks that must be completed first"},
        "require_plan": {"type": "boolean", "description": "no change before an approved plan"},
    }
    return Tool(
        name="create_task",
        description=(
            "Add a task to the graph; its id is in the result. To make tasks depend on each other, create "
            "them first, then name the ids with update_task. Nobody can claim it before your turn ends."
        ),
        input_schema=closed({**fields, **extra}, required=("subject", "description")),
        run=run,
        effect=Effect.TEAM,
    )


def _update_task(store: TaskStore, off_loop: OffLoop, plan: Planning) -> Tool:
    fields = _editable(plan.checks)

    async def run(args: dict[str, Any], _: ToolContext) -> str:
        task_id, needs = args["task_id"], args.get("add_blocked_by")
        plan.check_roles(args.get("roles", ()))
        if changes := _tuples(args, fields):
            await off_loop(store.edit, task_id, **changes)
        if needs:
            await off_loop(store.add_edges, task_id, needs)
        return "updated " + one_line(await off_loop(store.get, task_id))

    return Tool(
        name="update_task",
        description="Change an unclaimed task, or add tasks that must be completed before it.",
        input_schema=closed(
            {"task_id": TASK_ID, **fields, "add_blocked_by": TASK_IDS}, required=("task_id",)
        ),
        run=run,
        effect=Effect.TEAM,
    )
