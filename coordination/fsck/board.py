"""Inspect the tasks: graph and tasks agree, one living owner each, hints and views are right."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import NotRegularFile
from coordination.finding import Finding, error, note, warning
from coordination.identity import new_id
from coordination.records import Status
from coordination.tasks import rules
from coordination.tasks.validity import TASK
from coordination.tasks.views import ViewState, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from coordination.records import Task
    from coordination.stores import Stores
    from coordination.tasks.board import TaskBoard

_REBUILD = "makes hints anew from the tasks"
_ANEW = "writes it anew"


def inspect_board(stores: Stores, board: TaskBoard, is_present: Callable[[str], bool]) -> Iterator[Finding]:
    """What is wrong with the tasks; `is_present` says whether a bearer may still hold one."""

    def repair() -> None:
        stores.tasks.repair(everything=True)

    tasks = {task.id: task for task in board.all()}
    for task_id in board.logs.problems.keys() - tasks.keys():
        why = board.logs.problems[task_id]
        yield error(
            "task_unreadable",
            layout.task_log(task_id),
            why,
            why="the task can neither be worked on nor completed, and what needs it waits for ever",
        )
    yield from _unannounced(stores, board)
    if cycle := rules.cycle_among({task.id: task.blocked_by for task in tasks.values()}):
        yield error(
            "cycle",
            layout.GRAPH_LOG,
            f"tasks need each other: {' > '.join(cycle)}",
            why="none of them is ever ready",
        )
    for task in tasks.values():
        yield from _edges(stores, board, task, repair)
        yield from _holder(stores, task, is_present)
        yield from _view(stores, board, task, repair)
    yield from _owners(tasks.values())
    yield from _hints(stores, board, tasks.values(), repair)


def _unannounced(stores: Stores, board: TaskBoard) -> Iterator[Finding]:
    """Tasks that the graph does not name."""
    read = (board.logs.log(key).refresh() for key in TASK.found(stores.team.directory))
    found = [task for task in read if task and task.id not in board.graph.state.tasks]
    needed = {need for task in found if task.status is not Status.HELD for need in task.blocked_by}
    lost = {task.id: task.blocked_by for task in found if task.status is not Status.HELD or task.id in needed}
    mend = partial(board.graph.add, lost)  # by one record, since they may need each other
    for task in found:
        where = layout.task_log(task.id)
        if task.id not in lost:
            yield note(
                "unannounced", where, "the graph does not name it", why="its maker died before it existed"
            )
            continue
        yield error(
            "not_in_graph",
            where,
            f"the graph does not name it, yet it is {task.status}",
            why="nobody sees it, so it is never done",
            repair="adds it to the graph",
            mend=mend,
        )


def _edges(stores: Stores, board: TaskBoard, task: Task, repair: Callable[[], None]) -> Iterator[Finding]:
    where, needs = layout.task_log(task.id), set(task.blocked_by)
    judged = set(board.graph.state.needs.get(task.id, ()))
    if task.edges_pending and not task.status.is_final:
        yield warning(
            "edge_pending",
            where,
            f"edges to {', '.join(edge.needs for edge in task.edges_pending)} wait for their verdict",
            why="nobody can claim the task until then",
            repair="asks the graph, and settles them",
            mend=repair,
        )
    for need in sorted(needs - judged):
        yield error(
            "edge_not_in_graph",
            where,
            f"it needs {need}, of which the graph knows nothing",
            why="a cycle could be closed unseen",
            repair="adds the edge to the graph unless it closes a cycle",
            mend=partial(board.graph.propose, new_id("edge"), task.id, need),
        )
    for need in sorted(judged - needs - {edge.needs for edge in task.edges_pending}):
        if not task.status.is_final:
            yield error(
                "edge_not_in_task",
                where,
                f"the graph says that it needs {need}, the task does not",
                why="it may be claimed too early",
                repair="adds the need to the task while nobody works on it",
                mend=partial(stores.tasks.add_edges, task.id, [need]),
            )


def _holder(stores: Stores, task: Task, is_present: Callable[[str], bool]) -> Iterator[Finding]:
    if task.status is not Status.IN_PROGRESS or task.lease is None:
        return
    holder, token = task.lease.holder, task.lease.token
    if not is_present(holder):
        yield error(
            "holder_gone",
            layout.task_log(task.id),
            f"{holder} holds it under token {token}, and is gone",
            why="nobody works on it",
            repair="takes it back, which counts as an attempt",
            mend=lambda: stores.tasks.reclaim(task.id, token, f"fsck: {holder} is gone"),
        )
    elif not stores.team.directory.exists(layout.beat(holder)):
        yield warning(
            "no_beat",
            layout.beat(holder),
            f"{holder} holds {task.id} and has no beat",
            why="after a TTL the others take the task back",
            repair="nothing; the holder writes it, or loses the task",
        )


def _owners(tasks: Iterable[Task]) -> Iterator[Finding]:
    held: dict[str, str] = {}
    for task in tasks:
        if task.status is not Status.IN_PROGRESS or task.owner is None:
            continue
        if task.owner in held:
            yield error(
                "holds_two",
                layout.task_log(task.id),
                f"{task.owner} holds it and {held[task.owner]}",
                why="a member works on one task, so the other is not worked on",
            )
        held[task.owner] = task.id


def _view(stores: Stores, board: TaskBoard, task: Task, repair: Callable[[], None]) -> Iterator[Finding]:
    log, where = board.logs.log(task.id), layout.task_view(task.id)
    try:
        data = stores.team.directory.read(where)
    except FileNotFoundError:
        data = b""
    except (NotRegularFile, OSError) as problem:
        yield warning("view_blocked", where, str(problem), why="people see no copy of the task")
        return
    state = judge(data, log.name, log.newest) if log.newest else ViewState.CURRENT
    if state is ViewState.BEHIND:
        yield note(
            "view_behind",
            where,
            "not the newest version",
            why="people see old news",
            repair=_ANEW,
            mend=repair,
        )
    elif state is not ViewState.CURRENT:
        yield warning(
            "view_edited",
            where,
            "changed by hand",
            why="the team does not see the change",
            repair="takes it over if it changes the newest version, else keeps it beside as a conflict",
            mend=repair,
        )


def _hints(
    stores: Stores, board: TaskBoard, tasks: Iterable[Task], repair: Callable[[], None]
) -> Iterator[Finding]:
    missing, superfluous = board.hint_differences()
    for path in sorted(missing):
        yield note(
            "hint_lost", path, "not there", why="nobody finds the ready task", repair=_REBUILD, mend=repair
        )
    for path in sorted(superfluous):
        yield note(
            "hint_wrong", path, "not ready", why="costs a claimer a look", repair=_REBUILD, mend=repair
        )
    for task in tasks:
        if task.status is not Status.IN_PROGRESS or task.owner is None:
            continue
        path = f"{layout.holdings(task.owner)}/{task.id}"
        if not stores.team.directory.exists(path):
            yield warning(
                "holding_lost",
                path,
                "not there",
                why="its holder may claim another",
                repair=_REBUILD,
                mend=repair,
            )
