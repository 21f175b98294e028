"""Pure: the points at which hooks are asked, and what they are told, in the words of Claude Code."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Event(StrEnum):
    """When a hook is asked."""

    USER_PROMPT_SUBMIT = "UserPromptSubmit"  # before a person's words reach the model
    PRE_TOOL_USE = "PreToolUse"  # before a tool runs, after the permission gate
    POST_TOOL_USE = "PostToolUse"  # after it ran
    STOP = "Stop"  # before a turn ends
    TASK_CREATED = "TaskCreated"  # before a task is put on the board
    TASK_COMPLETED = "TaskCompleted"  # before a task is handed in
    TEAMMATE_IDLE = "TeammateIdle"  # before a teammate has nothing more to do
    PLAN_SUBMITTED = "PlanSubmitted"  # before a plan goes to its reviewer


# A failing hook blocks where its yes is what lets something happen; elsewhere it is only written down.
GUARDING = frozenset(
    {
        Event.USER_PROMPT_SUBMIT,
        Event.PRE_TOOL_USE,
        Event.TASK_CREATED,
        Event.TASK_COMPLETED,
        Event.PLAN_SUBMITTED,
    }
)
OF_TOOLS = frozenset({Event.PRE_TOOL_USE, Event.POST_TOOL_USE})  # those with a matcher
OF_CALLS: Mapping[str, Event] = MappingProxyType(  # what a call of these tools does to the team
    {
        "create_task": Event.TASK_CREATED,
        "complete_task": Event.TASK_COMPLETED,
        "submit_plan": Event.PLAN_SUBMITTED,
    }
)
NAMES: Mapping[str, str] = MappingProxyType(  # of tools, as existing scripts know them
    {
        "bash": "Bash",
        "read_file": "Read",
        "write_file": "Write",
        "edit_file": "Edit",
        "grep": "Grep",
        "glob": "Glob",
        "todo_write": "TodoWrite",
        "load_skill": "Skill",
        "create_task": "TaskCreate",
        "update_task": "TaskUpdate",
        "send_message": "SendMessage",
        "task": "Task",
    }
)
_FIELDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "read_file": {"path": "file_path"},
        "write_file": {"path": "file_path"},
        "edit_file": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
        "task": {"description": "prompt", "kind": "subagent_type"},
    }
)


def known_name(tool: str) -> str:
    """The name by which existing scripts know the tool; its own if they know none."""
    return NAMES.get(tool, tool)


def known_input(tool: str, arguments: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """The arguments under the names that existing scripts know; paths of files are absolute."""
    names = _FIELDS.get(tool, {})
    known = {names.get(name, name): value for name, value in arguments.items()}
    path = known.get("file_path")
    if isinstance(path, str) and not path.startswith("/") and cwd:
        known["file_path"] = f"{cwd}/{path}"
    return known


def own_input(tool: str, known: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """The other way round: what a script made of the arguments, under our own names."""
    names = {theirs: ours for ours, theirs in _FIELDS.get(tool, {}).items()}
    own = {names.get(name, name): value for name, value in known.items()}
    path = own.get("path")
    if "path" in names.values() and isinstance(path, str) and cwd:
        own["path"] = path.removeprefix(f"{cwd}/")
    return own
