"""What one process sees of the tasks, and the one way in which it changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.records import Status, Task
from coordination.tasks import rules
from coordination.tasks.graph import GraphState, TaskGraph
from coordination.tasks.holdings import TaskHoldings
from coordination.tasks.logs import TaskLogs
from coordination.tasks.ready_hints import ReadyHints
from coordination.tasks.refusals import UnknownTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team


class TaskBoard:
    """Logs and graph say what is true; hints and holdings follow each change and are never trusted."""

    def __init__(self, team: Team, actor: str, term: Callable[[], int] = lambda: 0) -> None:
        self.logs = TaskLogs(team, actor, term)
        self.graph = TaskGraph(team, actor, term)
        self.hints = ReadyHints(team)
        self.holdings = TaskHoldings(team)

    def known(self, task_id: str) -> GraphState:
        """The graph, which names the task. Raises UnknownTask."""
        graph = self.graph.state
        if task_id not in graph.tasks:
            raise UnknownTask(task=task_id)
        return graph

    def get(self, task_id: str) -> Task:
        """The newest version."""
        self.known(task_id)
        return self.logs.get(task_id)

    def readable(self, task_id: str) -> Task | None:
        """The newest version, or None and an entry in the problems."""
        try:
            return self.logs.get(task_id)
        except TeamError as error:
            self.logs.problems[task_id] = str(error)
            return None

    def all(self) -> list[Task]:
        """Every task that can be read, in order of creation."""
        return [task for task in map(self.readable, self.graph.state.tasks) if task]

    def blockers(self, task: Task) -> tuple[str, ...]:
        """The needs that are not completed, or cannot be read."""
        return rules.blockers(task, self.logs.status_of)

    def held_by(self, name: str) -> Task | None:
        """The task that the member holds; costs the same on any board."""
        for task_id in self.holdings.of(name):
            task = self.readable(task_id) if task_id in self.graph.state.tasks else None
            if task and task.status is Status.IN_PROGRESS and task.owner == name:
                return task
        return None

    def change(self, task_id: str, step: Callable[[Task, int], Task], *, by: str | None = None) -> Task:
        """What `step` makes of the newest version is committed; hints and holdings follow it."""
        place = self.known(task_id).tasks[task_id]
        replaced: list[Task] = []  # the versions that `step` was asked about, the last one is the base

        def watched(task: Task, number: int) -> Task:
            replaced.append(task)
            return step(task, number)

        after = self.logs.change(task_id, watched, by=by)
        before = replaced[-1]
        if before.owner and after.status is not Status.IN_PROGRESS:
            self.holdings.remove(before.owner, task_id)
        if before.status is Status.PENDING:
            self.hints.remove(before, place)
        self.hint(after)
        return after

    def hint(self, task: Task) -> bool:
        """A ready task has its hint; says whether it is ready."""
        if not rules.ready(task, self.logs.status_of):
            return False
        self.hints.add(task, self.graph.state.tasks[task.id])
        return True

    def rebuild(self) -> None:
        """Hints and holdings are what the tasks say."""
        self.holdings.rebuild(
            (task.owner, task.id) for task in self.all() if task.owner and task.status is Status.IN_PROGRESS
        )
        self.hints.rebuild(self._ready_with_places)

    def hint_differences(self) -> tuple[set[str], set[str]]:
        """The hints that are missing, and those that hint at nothing ready."""
        return self.hints.differences(self._ready_with_places)

    def _ready_with_places(self) -> list[tuple[Task, int]]:
        places = self.graph.state.tasks
        return [(task, places[task.id]) for task in self.all() if rules.ready(task, self.logs.status_of)]
