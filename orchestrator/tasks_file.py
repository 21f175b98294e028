"""A task graph that a person wrote: `run --tasks FILE.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from coordination import layout
from coordination.errors import TeamError
from harness.regular_files import FileUnusable, read_regular
from harness.yaml_text import YamlUnusable, in_short, load_yaml

if TYPE_CHECKING:
    from pathlib import Path


FILE_BYTES = 10_000_000  # a graph of many thousand tasks, each described at length
NotBlank = Annotated[str, msgspec.Meta(pattern=r"\S")]  # the board refuses the same, but only after the start
RoleName = Annotated[str, msgspec.Meta(pattern=f"^{layout.MEMBER_NAME.pattern}$")]
Priority = Annotated[int, msgspec.Meta(ge=0, le=9)]


@dataclass(eq=False)
class BadTasksFile(TeamError):
    """The file cannot be used as it is; nothing was started."""

    path: str
    why: str
    says = "{path}: {why}"


class PlannedTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the file."""

    key: NotBlank  # how other entries name it
    subject: NotBlank
    description: str = ""
    needs: tuple[str, ...] = ()  # keys of tasks that must be completed first
    checks: tuple[str, ...] = ()  # names of the configuration, or commands
    role: RoleName | None = None  # only members of this role may claim it
    priority: Priority = 5
    plan: bool = False  # no change before an approved plan


WANTED = {  # by field, in words
    "key": "a text that is not empty",
    "subject": "a text that is not empty",
    "description": "a text",
    "needs": "a list of keys",
    "checks": "a list of names of checks, or of commands",
    "role": "the name of a role",
    "priority": "a whole number from 0 to 9",
    "plan": "true or false",
}


def load_tasks(path: Path) -> list[PlannedTask]:
    """The tasks of the file, each behind those it needs. Raises BadTasksFile naming entry and field."""
    tasks = _entries(path)
    by_key = {task.key: task for task in tasks}
    if len(by_key) != len(tasks):
        twice = next(task.key for task in tasks if [other.key for other in tasks].count(task.key) > 1)
        raise BadTasksFile(path=str(path), why=f"the key {twice!r} is used twice")
    for task in tasks:
        for need in task.needs:
            if need not in by_key:
                raise BadTasksFile(
                    path=str(path), why=f"{task.key!r} needs {need!r}, which is no key in this file"
                )
    try:
        order = TopologicalSorter({task.key: task.needs for task in tasks}).static_order()
        return [by_key[key] for key in order]
    except CycleError as error:
        circle = " needs ".join(reversed(error.args[1]))
        raise BadTasksFile(path=str(path), why=f"the tasks wait for each other: {circle}") from error


def _entries(path: Path) -> list[PlannedTask]:
    try:
        raw = load_yaml(read_regular(path, most=FILE_BYTES))
    except FileNotFoundError as error:
        raise BadTasksFile(path=str(path), why="cannot be read: there is no such file") from error
    except FileUnusable as error:
        raise BadTasksFile(path=str(path), why=f"cannot be read: {error.why}") from error
    except YamlUnusable as error:
        raise BadTasksFile(path=str(path), why=f"is no YAML: {error}") from error
    if not isinstance(raw, list) or not raw:
        raise BadTasksFile(path=str(path), why="must be a list of tasks, each with at least key and subject")
    return [_entry(path, place, entry) for place, entry in enumerate(raw, start=1)]


def _entry(path: Path, place: int, entry: Any) -> PlannedTask:  # noqa: ANN401 - raw YAML
    try:
        return msgspec.convert(entry, PlannedTask)
    except msgspec.ValidationError as error:
        why = f"task {place}: {_misfit(entry)}; the fields are {', '.join(WANTED)}"
        raise BadTasksFile(path=str(path), why=why) from error


def _misfit(entry: Any) -> str:  # noqa: ANN401 - raw YAML
    """What is wrong with an entry that is none, in the words of the file."""
    if not isinstance(entry, dict):
        return f"it must be a mapping of fields, not {in_short(entry)}"
    for name in entry:
        if name not in WANTED:
            return f"there is no field {name}"
    for of in msgspec.structs.fields(PlannedTask):
        if of.name not in entry and of.required:
            return f"{of.name} is missing"
        if of.name in entry and not _fits(entry[of.name], of.type):
            return f"{of.name} must be {WANTED[of.name]}, not {in_short(entry[of.name])}"
    return "it is no task"


def _fits(value: Any, kind: Any) -> bool:  # noqa: ANN401 - raw YAML; a type as msgspec has it
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
