"""Three kinds of board that are measured side by side: ours, SQLite, and bare commits by link."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Protocol

from bench.side_by_side import broken
from coordination.files import StateDirectory
from coordination.records import Status, TaskResult
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant
from coordination.tasks.store import TaskStore
from coordination.team_root import create_team, open_team

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


CLAIMERS = 8
RESULT = TaskResult(text="done")
TEXT = "x" * 160


def layered(tasks: int) -> list[tuple[int, ...]]:
    """What each task needs: two of the layer before, so that a tenth can be claimed at first."""
    random, width = Random(1), max(5, tasks // 10)
    return [
        tuple(random.sample(range(n // width * width - width, n // width * width), 2)) if n >= width else ()
        for n in range(tasks)
    ]


class CountingDirectory(StateDirectory):
    """Counts commits that were written and lost; unsynced while a board is only set up."""

    durable = True
    tried = lost = 0

    def publish(self, name: str, data: bytes) -> OSError | None:
        error = super().publish(name, data)
        self.tried += 1
        self.lost += error is not None
        return error

    def sync(self, directory: str) -> None:
        if self.durable:
            super().sync(directory)

    def _write_new(self, name: str, data: bytes, *, durable: bool) -> None:
        super()._write_new(name, data, durable=durable and self.durable)


class Peer(Protocol):
    """One kind of board; an object is opened anew in each process."""

    directory: CountingDirectory | None

    def __init__(self, place: Path) -> None: ...
    def open(self, claimer: int) -> None: ...
    def claim_next(self) -> int | None: ...
    def complete(self) -> None: ...


class Leadhand:
    """Our board; its tasks are known by their place in the order of creation."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.directory: CountingDirectory | None = None

    def open(self, claimer: int) -> None:
        self.directory = CountingDirectory(self._place)
        name = f"worker{claimer}"
        self.claimant = Claimant(name=name, incarnation=2)
        self.store = TaskStore(replace(open_team(self._place), directory=self.directory), f"{name}~2")
        self._places = {task: place for place, task in enumerate(self.store._board.graph.state.tasks)}  # noqa: SLF001

    def claim_next(self) -> int | None:
        self.task = self.store.claim_next(self.claimant)
        return self._places[self.task.id] if self.task else None

    def complete(self) -> None:
        assert self.task
        self.store.complete(self.task.id, self.task.token or 0, commit="c0ffee", branch="b", result=RESULT)

    def plan(self, needs: Sequence[tuple[int, ...]]) -> None:
        """The board exists; not synced, since only what follows is measured."""
        create_team(self._place, self._place)
        self.open(0)
        assert self.directory
        self.directory.durable = False
        drafts = [
            TaskDraft(
                subject=f"task {n}",
                description=TEXT,
                key=f"k{n}",
                blocked_by=tuple(f"k{need}" for need in of),
            )
            for n, of in enumerate(needs)
        ]
        self.store.publish([task.id for task in self.store.create(drafts)])

    def faults(self, claimed: Sequence[int]) -> Iterator[str]:
        """What the logs say against the run."""
        store = TaskStore(open_team(self._place), "person")
        tasks = store.all()
        done = {task.id for task in tasks if task.status is Status.COMPLETED}
        if len(done) != len(claimed):
            yield f"{len(claimed)} claimed and {len(done)} completed"
        if any(not done.issuperset(task.blocked_by) for task in tasks if task.id in done):
            yield "claimed before what it needs"
        claims = [
            sum(step.event == "claim" for _, step in store.history(task)) for task in sorted(done)[:200]
        ]
        if any(number != 1 for number in claims):
            yield "a task with two claims"
        yield from broken(self._place)


class Sqlite:
    """A table of tasks and one of edges, WAL and FULL."""

    directory = None

    def __init__(self, place: Path) -> None:
        self._path = place / "tasks.db"

    def open(self, claimer: int) -> None:
        self._who = f"worker{claimer}"
        self._db = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=full")

    def claim_next(self) -> int | None:
        self._begin()
        row = self._db.execute(
            "select id from task where status='pending' and waits=0 order by priority, id limit 1"
        ).fetchone()
        if row:
            self._db.execute("update task set status='in_progress', owner=? where id=?", (self._who, row[0]))
        self._db.execute("commit")
        self._task = row[0] if row else None
        return self._task

    def complete(self) -> None:
        self._begin()
        done = self._db.execute(
            "update task set status='completed' where id=? and owner=? and status='in_progress'",
            (self._task, self._who),
        )
        assert done.rowcount == 1
        self._db.execute(
            "update task set waits=waits-1 where id in (select task from edge where need=?)", (self._task,)
        )
        self._db.execute("commit")

    def plan(self, needs: Sequence[tuple[int, ...]]) -> None:
        self.open(0)
        for statement in (
            "create table task(id integer primary key, text, status, priority, waits, owner)",
            "create table edge(need, task)",
            "create index edge_need on edge(need)",
            "create index task_ready on task(status, waits, priority, id)",
            "begin",
        ):
            self._db.execute(statement)
        rows = [(n, TEXT, "pending", 5, len(of)) for n, of in enumerate(needs)]
        self._db.executemany("insert into task values(?,?,?,?,?,null)", rows)
        edges = [(need, n) for n, of in enumerate(needs) for need in of]
        self._db.executemany("insert into edge values(?,?)", edges)
        self._db.execute("commit")
        self._db.close()

    def _begin(self) -> None:
        while True:
            try:
                self._db.execute("begin immediate")
            except sqlite3.OperationalError:
                continue
            return

    def faults(self, claimed: Sequence[int]) -> Iterator[str]:
        self.open(0)
        (done,) = self._db.execute("select count(*) from task where status='completed'").fetchone()
        self._db.close()
        if done != len(claimed):
            yield f"{len(claimed)} claimed and {done} completed"


class Raw:
    """The limit: a claim and a completion are one synced link each, with nothing to contest."""

    directory = None

    def __init__(self, place: Path) -> None:
        self._place = place

    def open(self, claimer: int) -> None:
        self._state, self._log = StateDirectory(self._place), str(claimer)
        self._state.make(self._log)
        self._numbers = count(claimer, CLAIMERS)

    def claim_next(self) -> int | None:
        self._number = next(self._numbers)
        self._publish("claimed")
        return self._number

    def complete(self) -> None:
        self._publish("completed")

    def plan(self, needs: Sequence[tuple[int, ...]]) -> None:
        """Nothing to plan."""

    def _publish(self, what: str) -> None:
        assert self._state.publish(f"{self._log}/{self._number}-{what}", TEXT.encode()) is None

    def faults(self, _: Sequence[int]) -> Iterator[str]:
        yield from ()


PEERS: dict[str, type[Leadhand | Sqlite | Raw]] = {"leadhand": Leadhand, "sqlite": Sqlite, "raw": Raw}
