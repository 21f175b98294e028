"""Edges between tasks: wanted in the task, judged in the graph, settled in the task."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.identity import new_id
from coordination.records import PendingEdge, Task
from coordination.tasks import rules
from coordination.tasks.refusals import Cycle, Names, SelfEdge, UnknownTask, refuse_claimed
from coordination.tasks.rules import InvalidTransition, find_cycle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordination.tasks.board import TaskBoard


class TaskEdges:
    """The verdict of the graph counts, whoever asked for it; an edge without one is never dropped."""

    def __init__(self, board: TaskBoard) -> None:
        self._board = board

    def add(self, task_id: str, needs: Iterable[str]) -> Task:
        """The task needs these too; when one of them is refused at sight, nothing is written.

        Raises SelfEdge, UnknownTask, Cycle, NotUnclaimed.
        """
        task = self._board.get(task_id)
        wanted = [need for need in dict.fromkeys(needs) if need not in task.blocked_by]
        self._refuse(task_id, wanted)
        if not wanted:
            return task
        edges = [PendingEdge(edge=new_id("edge"), needs=need) for need in wanted]

        def step(task: Task, _: int) -> Task:
            refuse_claimed(task)
            return rules.want_edges(task, edges)

        self._board.change(task_id, step)
        settled = self.settle(task_id)
        self._refuse(task_id, [need for need in wanted if need not in settled.blocked_by])
        return settled

    def settle(self, task_id: str) -> Task:
        """Every edge that was pending has its verdict, and the task follows it."""
        pending = self._board.get(task_id).edges_pending
        verdicts = {e.edge: self._board.graph.propose(e.edge, task_id, e.needs) for e in pending}

        def step(task: Task, _: int) -> Task:
            if not any(edge.edge in verdicts for edge in task.edges_pending):
                raise _SettledElsewhere
            return rules.settle(task, verdicts)

        with suppress(_SettledElsewhere, InvalidTransition):  # or the task has ended meanwhile
            self._board.change(task_id, step)
        return self._board.get(task_id)

    def _refuse(self, task_id: str, needs: Iterable[str]) -> None:
        graph = self._board.graph.state
        for need in needs:
            if need == task_id:
                raise SelfEdge(task=task_id)
            if need not in graph.tasks:
                raise UnknownTask(task=need)
            if cycle := find_cycle(graph.needs, task_id, need):
                raise Cycle(task=task_id, path=Names(cycle))


class _SettledElsewhere(TeamError):
    """Another process was faster."""
