"""Inspect what lies outside the state files: the trees of tasks, and the processes of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from coordination.finding import Finding, error
from coordination.process import UNKNOWN, known_dead, pid_namespace
from coordination.records import MemberState, Status
from orchestrator.launchers.local import TEAMMATE
from workspace.git import Git
from workspace.tree_of_task import is_bound
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.records import Member, Task
    from coordination.stores import Stores
    from coordination.tasks.store import TaskStore

_LIVING = {MemberState.ALIVE, MemberState.CLOSING}
_START_SECONDS = 10.0  # a process may take so long to come onto the roster


def inspect_trees(stores: Stores) -> Iterator[Finding]:
    """Tasks in progress whose tree is not the one that was bound to them."""
    root = stores.team.root
    bound = [task for task in stores.tasks.all() if _is_bound(stores.tasks, task)]
    git = Git(stores.team.repository) if bound else None
    for task in bound:
        where = task.worktree or ""
        trees = Worktrees(git, root, (root / where).parent) if git else None
        why = trees.lease_problem(root / where, task.base or "") if trees else None
        if why and stores.tasks.get(task.id) == task:  # else its tree was taken away meanwhile
            yield error(
                "tree_broken",
                where,
                f"{task.owner} works on {task.id} in it: {why}",
                why="each of its calls is refused",
                repair="nothing; the task is given back, and the next holder gets a fresh tree",
            )


def _is_bound(tasks: TaskStore, task: Task) -> bool:
    """Whether the tree that the task names is that of its present holder, not of the one before."""
    in_a_tree = task.status is Status.IN_PROGRESS and task.worktree is not None
    return in_a_tree and is_bound(tasks, task)


def inspect_processes(stores: Stores) -> Iterator[Finding]:
    """Teammates of this team that run on this machine without being alive on the roster."""
    running = list(_teammates(stores))  # before the roster: what starts now is on neither
    members = stores.roster.all()
    for process, arguments in running:
        if any(_is_expected(member, process.pid, arguments) for member in members):
            continue
        name = _value(arguments, "--name")
        yield error(
            "orphan_process",
            f"process {process.pid}",
            f"it works as {name} and is not on the roster as such",
            why="what it writes is refused, but its commands run on",
            repair=f"nothing; end it by `kill {process.pid}`",
        )


def _teammates(stores: Stores) -> Iterator[tuple[psutil.Process, list[str]]]:
    now, here = stores.team.clock.now().timestamp(), pid_namespace()
    for process in psutil.process_iter():
        try:
            arguments = process.cmdline()
            is_young = now - process.create_time() < _START_SECONDS
        except psutil.Error:  # gone, or not ours to look at
            continue
        is_elsewhere = pid_namespace(process.pid) not in {here, UNKNOWN}  # teammates do not show theirs
        if TEAMMATE not in arguments or is_young or is_elsewhere:
            continue
        root = _value(arguments, "--team")
        if root and Path(root).resolve() == stores.team.root.resolve():
            yield process, arguments


def _value(arguments: list[str], option: str) -> str | None:
    following = arguments[arguments.index(option) + 1 :] if option in arguments else []
    return following[0] if following else None


def _is_expected(member: Member, pid: int, arguments: list[str]) -> bool:
    if member.state is MemberState.STARTING:
        return member.spawn_id == _value(arguments, "--spawn-id")
    process = member.process if member.state in _LIVING else None
    return process is not None and process.pid == pid and not known_dead(process)
