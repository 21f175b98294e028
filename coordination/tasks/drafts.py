"""Pure: what people and models may write into a task: drafts of new ones, and edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import InvalidRecord
from coordination.records import Status, Task
from coordination.tasks.refusals import (
    BlankSubject,
    Cycle,
    FieldInvalid,
    Names,
    SelfEdge,
    UnknownTask,
    refuse_claimed,
)
from coordination.tasks.rules import EDITABLE, cycle_among, edit

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class TaskDraft:
    """A task that somebody wants."""

    subject: str
    description: str = ""
    run: str | None = None
    priority: int = 5
    roles: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()  # ids, or keys of drafts of the same call
    checks: tuple[str, ...] = ()
    plan_required: bool = False
    reserved_for: str | None = None
    redo_of: str | None = None
    max_attempts: int = 3
    key: str | None = None  # by which the other drafts of the call name it; not kept


def resolve(drafts: Sequence[TaskDraft], ids: Sequence[str], known: Container[str]) -> list[Task]:
    """The first versions, keys replaced by ids.

    Raises BlankSubject, UnknownTask, SelfEdge or Cycle for the first draft that cannot be made.
    """
    by_key = {draft.key: task for draft, task in zip(drafts, ids, strict=True) if draft.key}
    tasks = [_first_version(draft, task, by_key) for draft, task in zip(drafts, ids, strict=True)]
    for task in tasks:
        _check_names(task, known, ids)
    if cycle := cycle_among({task.id: task.blocked_by for task in tasks}):
        raise Cycle(task=cycle[0], path=Names(cycle))
    return tasks


def edited(task: Task, fields: Mapping[str, object]) -> Task:
    """The version with these fields changed. Raises FieldInvalid and NotUnclaimed."""
    if locked := fields.keys() - EDITABLE:
        raise FieldInvalid(detail=f"{', '.join(sorted(locked))} cannot be edited")
    return _with_fields(task, fields)


def edited_by_hand(task: Task, fields: Mapping[str, object], *, newest: bool) -> Task:
    """Likewise for a readable file that a person changed; keys that are no fields are kept with the task."""
    if not newest:
        raise FieldInvalid(detail="the task went on while it was edited")
    if locked := fields.keys() & set(Task.__struct_encode_fields__) - EDITABLE:
        raise FieldInvalid(detail=f"{', '.join(sorted(locked))} cannot be changed by hand, only by a command")
    return _with_fields(task, fields)


def _with_fields(task: Task, fields: Mapping[str, object]) -> Task:
    refuse_claimed(task)
    try:
        return edit(task, Task.from_json({**task.to_json(), **fields}))
    except InvalidRecord as error:
        raise FieldInvalid(detail=error.why) from error


def _first_version(draft: TaskDraft, task: str, by_key: Mapping[str, str]) -> Task:
    if not draft.subject.strip():
        raise BlankSubject
    return Task(
        id=task,
        subject=" ".join(draft.subject.split()),  # one line, wherever it is listed
        status=Status.HELD,
        description=draft.description,
        run=draft.run,
        priority=draft.priority,
        roles=tuple(draft.roles),
        blocked_by=tuple(dict.fromkeys(by_key.get(need, need) for need in draft.blocked_by)),
        checks=tuple(draft.checks),
        plan_required=draft.plan_required,
        reserved_for=draft.reserved_for,
        redo_of=draft.redo_of,
        max_attempts=draft.max_attempts,
    )


def _check_names(task: Task, known: Container[str], siblings: Sequence[str]) -> None:
    if task.id in task.blocked_by:
        raise SelfEdge(task=task.id)
    for need in task.blocked_by:
        if need not in known and need not in siblings:
            raise UnknownTask(task=need)
    if task.redo_of is not None and task.redo_of not in known:
        raise UnknownTask(task=task.redo_of)
