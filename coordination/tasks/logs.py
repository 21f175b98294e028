"""The logs of the tasks: each opened once, read as far as it grew, and changed by pure steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, StateUnreadable
from coordination.json_form import scrubbed
from coordination.numbered_log import Logs, NumberedLog
from coordination.protocols import term_to_write
from coordination.records import Status, Task
from coordination.tasks.graph import IdTaken
from coordination.tasks.refusals import FieldInvalid, TaskUnreadable
from coordination.tasks.validity import TASK

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team


class TaskLogs:
    """Every task by its id; knows nothing of the graph, so an id must be asked there first."""

    def __init__(self, team: Team, actor: str, term: Callable[[], int]) -> None:
        self.touched: set[str] = set()  # tasks with versions whose readable view was not yet looked at
        self.problems: dict[str, str] = {}  # what was passed over, by task
        self._team, self._actor, self._term = team, actor, term
        self._logs = Logs(team.directory, TASK)

    def log(self, task: str) -> NumberedLog[Task]:
        """The log as it was last read."""
        return self._logs[task]

    def get(self, task: str) -> Task:
        """The newest version. Raises TaskUnreadable, StateUnreadable, NewerFormat."""
        log = self.log(task)
        known = log.top
        state = log.refresh()
        if log.top != known:
            self.touched.add(task)
        if why := log.invalid.get(log.top):
            self.problems[task] = f"{layout.record(log.path, log.top)} does not count ({why})"
        if state is None:
            raise TaskUnreadable(task=task, why=log.invalid.get(1, "its first version is missing"))
        return state

    def status_of(self, task: str) -> Status | None:
        """The status, from memory once it is final; None for what cannot be read."""
        known = self.log(task).state
        if known is not None and known.status.is_final:
            return known.status
        try:
            return self.get(task).status
        except (TaskUnreadable, StateUnreadable) as error:
            self.problems[task] = str(error)
            return None

    def history(self, task: str) -> list[tuple[int, Task]]:
        """Every version with its number, read anew."""
        return [(record.number, Task.from_json(record.body)) for record in self.log(task).records()]

    def create(self, task: Task) -> Task:
        """Record 1 of the task is on disk. Raises FieldInvalid; IdTaken when the log is not empty."""

        def draft(state: Task | None, number: int) -> dict[str, Any]:
            if state is not None or number != 1:
                raise IdTaken(task=task.id)
            return self._signed(structs.replace(task, created_at=self._now()), present=0)

        return self._commit(task.id, draft)

    def change(self, task: str, step: Callable[[Task, int], Task], *, by: str | None = None) -> Task:
        """The version that `step` makes of the newest one, given the number it will have, is on disk.

        `step` is asked again whenever another process was faster, and may raise to give up. Raises
        FieldInvalid when the outcome breaks the rules of a task.
        """

        def draft(state: Task | None, number: int) -> dict[str, Any]:
            if state is None:
                raise TaskUnreadable(task=task, why="its first version is missing")
            return self._signed(step(state, number), present=state.term, by=by)

        return self._commit(task, draft)

    def _commit(self, task: str, draft: Callable[[Task | None, int], dict[str, Any]]) -> Task:
        self.touched.add(task)
        try:
            return self.log(task).commit(draft)
        except InvalidRecord as error:
            raise FieldInvalid(detail=error.why) from error

    def _now(self) -> str:
        return iso(self._team.clock.now())

    def _signed(self, task: Task, *, present: int, by: str | None = None) -> dict[str, Any]:
        signed = structs.replace(
            task,
            by=by or self._actor,
            at=self._now(),
            term=term_to_write(self._actor, self._term(), present),
        )
        body = signed.to_json()
        try:
            data = msgspec.json.encode(body)
        except UnicodeEncodeError:
            data = msgspec.json.encode(scrubbed(body))
        return msgspec.json.decode(data, type=dict[str, Any])  # as a reader will see it
