"""Claimers that want the same tasks, are killed at random and lose leases, and what came of their claims."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from coordination import layout
from coordination.clock import SystemClock
from coordination.fsck.fsck import inspect
from coordination.records import Plan, Status, TaskResult
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.tasks.refusals import Claimant, ClaimRefused, NotReady
from coordination.tasks.rules import InvalidTransition, StaleToken
from coordination.tasks.store import TaskStore
from coordination.team_root import open_team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import ForkServerProcess

    from coordination.records import Task
    from coordination.team_root import Team

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.support.claim_chaos"])
MEETING_SECONDS = 0.05  # so long those who are there wait for one that was killed
LATE_WRITES = 20
LOOK_SECONDS = 0.0005
TASKS_AT_ONCE = 4  # planned together; so often all claimers start anew
SILENCE_SECONDS = 0.03  # after which a lease that did not move counts as expired
HOLDERS_ONLY = {"complete", "release", "bind", "submit_plan"}
RESULT = TaskResult(text="done")


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of everything."""

    claims: int  # tries to claim a version that another process tried as well
    claimers: int = 8
    tick_seconds: float = 0.3  # between kills
    last_token: int = 200  # from here on a task is completed, and all go on to the next one


# what a claimer does


class Claimer:
    """Wants whatever task can be had, and reports each try and each win before anything else happens."""

    def __init__(self, root: str, place: int, incarnation: int, size: Size) -> None:
        team = open_team(Path(root))
        self._me = Claimant(name=f"worker{place}", incarnation=incarnation)
        self._place, self._size = place, size
        self._random = Random(self._me.bearer)
        self._clock = team.clock
        self._store = TaskStore(team, self._me.bearer)
        path = team.root / "reports" / self._me.bearer
        self._meeting = os.open(team.root / "meeting", os.O_RDWR | os.O_CREAT)
        self._report = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._seen: dict[str, tuple[int, float]] = {}  # task to the token it was seen with, and since when

    def run(self, tasks: list[str]) -> None:
        for task_id in tasks:
            while not (task := self._store.get(task_id)).status.is_final:
                if task.status is Status.PENDING:
                    self._try(task)
                elif task.token and self._is_silent(task):
                    self._act("reclaimed", task, lambda t: self._store.reclaim(t.id, t.token or 0, "silent"))
                else:
                    self._clock.sleep(LOOK_SECONDS)

    def _meet(self, task: str, version: int) -> None:
        """Wait for all others that live, so that all try the same version at the same moment."""
        ready = f"{task[-8:]}{version:08d}".encode()
        os.pwrite(self._meeting, ready, len(ready) * self._place)
        deadline = self._clock.monotonic() + MEETING_SECONDS
        while os.pread(self._meeting, 1 << 10, 0).count(ready) < self._size.claimers:
            if self._clock.monotonic() > deadline or self._store.get(task).status is not Status.PENDING:
                return
            self._clock.sleep(LOOK_SECONDS)

    def _is_silent(self, task: Task) -> bool:
        now = self._clock.monotonic()
        token, since = self._seen.get(task.id, (0, now))
        if token != task.token:
            self._seen[task.id] = (task.token or 0, now)
            return False
        return now - since > SILENCE_SECONDS

    def _try(self, task: Task) -> None:
        version = self._store._board.logs.log(task.id).top
        self._meet(task.id, version)
        self._say("tried", task.id, version)
        try:
            won = self._store.claim(task.id, self._me)
        except ClaimRefused:
            return
        self._say("won", won.id, won.token)
        self._work(won)

    def _work(self, task: Task) -> None:
        if self._random.random() < 0.04:
            self._wake_late(task)
            return
        if self._random.random() < 0.1:
            plan = Plan(number=1, digest="d", request="r")
            self._act("planned", task, lambda t: self._store.submit_plan(t.id, t.token or 0, plan))
        if (task.token or 0) > self._size.last_token:
            self._act(
                "completed",
                task,
                lambda t: self._store.complete(t.id, t.token or 0, commit="c", branch="b", result=RESULT),
            )
        else:
            self._act("released", task, lambda t: self._store.release(t.id, t.token or 0, "enough"))

    def _wake_late(self, task: Task) -> None:
        """Go on as if nothing had been, long after the lease ended and others had the task."""
        self._clock.sleep(2 * SILENCE_SECONDS)
        for _ in range(LATE_WRITES):
            self._act("bound", task, lambda t: self._store.bind(t.id, t.token or 0, worktree="w", base="b"))
            self._clock.sleep(LOOK_SECONDS)

    def _act(self, what: str, task: Task, act: Callable[[Task], object]) -> None:
        try:
            act(task)
        except (StaleToken, InvalidTransition, NotReady):
            self._say("refused", task.id, task.token)
        else:
            self._say(what, task.id, task.token)

    def _say(self, what: str, task: str, number: int | None) -> None:
        os.write(self._report, f"{what} {task} {number}\n".encode())


def claimer_process(root: str, place: int, incarnation: int, size: Size, tasks: list[str]) -> None:
    Claimer(root, place, incarnation, size).run(tasks)


# what happens to them


@dataclass
class Outcome:
    """What the claimers reported."""

    kills: int = 0
    contested: int = 0  # tries for a version that more than one process wanted
    faults: list[str] = field(default_factory=list)
    tried: Counter[tuple[str, int]] = field(default_factory=Counter)  # by task and version
    won: dict[tuple[str, int], list[str]] = field(default_factory=dict)  # task and token to bearers
    acted: Counter[str] = field(default_factory=Counter)

    def add(self, bearer: str, line: str) -> None:
        what, task, number = line.split()
        if what == "tried":
            self.tried[task, int(number)] += 1
        elif what == "won":
            self.won.setdefault((task, int(number)), []).append(bearer)
        else:
            self.acted[what] += 1


class Reports:
    """Reads on in the claimers' files."""

    def __init__(self, place: Path) -> None:
        self._place, self._read = place, Counter[str]()
        place.mkdir()

    def into(self, outcome: Outcome) -> None:
        for path in self._place.iterdir():
            with path.open("rb") as file:
                file.seek(self._read[path.name])
                lines = file.read().rpartition(b"\n")[0].splitlines(keepends=True)
            self._read[path.name] += sum(map(len, lines))
            for line in lines:
                outcome.add(path.name, line.decode())


def contend(team: Team, size: Size, random: Random, *, patience_seconds: float) -> Outcome:
    """So many contested claims were made, a random claimer killed at each tick."""
    outcome, reports = Outcome(), Reports(team.root / "reports")
    clock, numbers = SystemClock(), count(2)
    deadline = clock.monotonic() + patience_seconds
    board = TaskStore(team, "person")
    while outcome.contested < size.claims:
        tasks = plan(team, TASKS_AT_ONCE)
        living: dict[int, ForkServerProcess] = {}
        while any(not board.get(task).status.is_final for task in tasks):
            assert clock.monotonic() < deadline, f"not done in time: {outcome.contested} claims"
            for place in range(size.claimers):
                if place not in living or living[place].exitcode is not None:
                    assert place not in living or living[place].exitcode in {0, -signal.SIGKILL}
                    arguments = (str(team.root), place, next(numbers), size, tasks)
                    living[place] = FORKS.Process(target=claimer_process, args=arguments, daemon=True)
                    living[place].start()
            clock.sleep(size.tick_seconds)
            victim = living[random.randrange(size.claimers)]
            victim.kill()
            victim.join()
            outcome.kills += 1
        for process in living.values():
            process.join(20)
            assert process.exitcode in {0, -signal.SIGKILL}
        reports.into(outcome)
        judge(team, outcome, tasks)
    return outcome


def plan(team: Team, tasks: int) -> list[str]:
    """So many tasks that no number of attempts fails."""
    store = TaskStore(team, "person")
    made = store.create([TaskDraft(subject="wanted by all", max_attempts=10**9)] * tasks)
    return [task.id for task in store.publish(task.id for task in made)]


def judge(team: Team, outcome: Outcome, tasks: list[str]) -> None:
    """Whatever contradicts one winner of each claim, or one end of each task, is a fault; then they go."""
    outcome.faults += [f"{claim} won by {who}" for claim, who in outcome.won.items() if len(who) > 1]
    found = [finding for finding in inspect(open_stores(team, "person")) if finding.counts]
    outcome.faults += [
        f"{bad.where}: {bad.what}" for bad in found if any(task in bad.where for task in tasks)
    ]
    for task_id in tasks:
        outcome.faults += _faults_of(team, outcome, task_id)
        shutil.rmtree(team.root / layout.task_log(task_id))  # a full size would fill the memory
    outcome.faults += [f"{claim} won by {who}, not in the log" for claim, who in outcome.won.items()]
    outcome.contested += sum(number for number in outcome.tried.values() if number > 1)
    outcome.won.clear()
    outcome.tried.clear()


def _faults_of(team: Team, outcome: Outcome, task_id: str) -> Iterator[str]:
    holder: str | None = None
    ends = 0
    for number, task in TaskStore(team, "person").history(task_id):
        if task.event == "claim":
            believed = outcome.won.pop((task_id, number), [task.by])
            if holder or believed != [task.by]:
                yield f"{task_id}/{number} by {task.by}: held by {holder}, won by {believed}"
        elif task.event in HOLDERS_ONLY and task.by != holder:
            yield f"{task_id}/{number} {task.event} by {task.by}: held by {holder}"
        holder = task.lease.holder if task.status is Status.IN_PROGRESS and task.lease else None
        ends += task.event == "complete"
    if ends != 1:
        yield f"{task_id} was completed {ends} times"
