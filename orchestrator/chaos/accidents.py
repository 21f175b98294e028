"""What happens to the team: each accident, done to real processes and real files."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import psutil

from coordination import layout
from coordination.process import processes_at
from coordination.protocols import LEAD
from orchestrator.chaos.schedule import Accident, Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orchestrator.chaos.stage import Stage
    from orchestrator.launchers.local import LocalProcess

GARBAGE = (b'\n{"n":7,"kind":"half a li', b"\0" * 512, b"\n!! not json\n", b"\n[]\n\xff\xfe")
NO_MOUNT = "only root can mount a small disk"
JUMPS = (-3600, 3600)  # seconds


class Accidents:
    """Does them, and undoes those that pass."""

    def __init__(self, stage: Stage, follow: Callable[[], LocalProcess]) -> None:
        """`follow` starts the next lead while the present one still stands."""
        self.happened: Counter[Kind] = Counter()
        self.lead: LocalProcess | None = None
        self.followed: list[LocalProcess] = []  # leads that stood still while the next one began
        self._stage = stage
        self._follow = follow
        self._passing: list[tuple[float, Callable[[], None]]] = []

    @property
    def left_out(self) -> dict[str, str]:
        """What cannot be done here, and why."""
        return {} if self._stage.disk.is_mounted else {str(Kind.DISK_FULL): NO_MOUNT}

    def strike(self, accident: Accident, now: float) -> None:
        """The accident happens, where there is something to hit."""
        if accident.kind not in self.left_out and self._strike(accident, now + accident.lasts_seconds):
            self.happened[accident.kind] += 1

    def pass_by(self, now: float = float("inf")) -> None:
        """What lasted until now is over."""
        over = [undo for until, undo in self._passing if until <= now]
        self._passing = [(until, undo) for until, undo in self._passing if until > now]
        for undo in over:
            undo()

    def _strike(self, accident: Accident, until: float) -> bool:
        random = Random(accident.seed)  # noqa: S311 - to be drawn again from the same seed
        strikes: dict[Kind, Callable[[], bool]] = {
            Kind.WORKER_KILLED: lambda: self._kill_worker(accident),
            Kind.LEAD_KILLED: self._kill_lead,
            Kind.ALL_KILLED: self._kill_all,
            Kind.WORKER_FROZEN: lambda: self._freeze(self._worker(accident), until),
            Kind.LEAD_FROZEN: lambda: self._freeze_lead(until),
            Kind.LINE_TORN: lambda: self._tear(random),
            Kind.RECORD_PLANTED: lambda: self._plant(random),
            Kind.DISK_FULL: lambda: self._fill_disk(until),
            Kind.CLOCK_JUMPED: lambda: self._move_clock(random, until),
        }
        return strikes[accident.kind]()

    def _worker(self, accident: Accident) -> psutil.Process | None:
        workers = sorted(self._stage.workers(), key=lambda process: process.pid)
        return workers[int(accident.pick * len(workers))] if workers else None

    def _kill_worker(self, accident: Accident) -> bool:
        """One in two is gone on with under its name, by a person who starts it again by hand."""
        worker = self._worker(accident)
        if worker is None:
            return False
        with suppress(psutil.Error):
            arguments = worker.cmdline()
            name = arguments[arguments.index("--name") + 1]
            if _kill(worker) and accident.seed % 2:
                self._stage.command("worker", "--name", name)
            return True
        return False

    def _kill_lead(self) -> bool:
        if self.lead is None or self.lead.ended() is not None:
            return False
        return _kill(psutil.Process(self.lead.pid))

    def _kill_all(self) -> bool:
        killed = [_kill(worker) for worker in self._stage.workers()]
        return self._kill_lead() or any(killed)

    def _freeze(self, process: psutil.Process | None, until: float) -> bool:
        if process is None:
            return False
        with suppress(psutil.Error):
            process.suspend()
            self._passing.append((until, lambda: _wake(process)))
            return True
        return False

    def _freeze_lead(self, until: float) -> bool:
        if self.lead is None or self.lead.ended() is not None:
            return False
        if not self._freeze(psutil.Process(self.lead.pid), until):
            return False
        self.followed.append(self.lead)
        self.lead = self._follow()
        return True

    def _move_clock(self, random: Random, until: float) -> bool:
        """That of one process alone, so that it is another than that of everybody else."""
        bearers = self._bearers()
        if not bearers:
            return False
        clock = self._stage.clocks / str(bearers[random.choice(sorted(bearers))])
        clock.write_text(str(random.choice(JUMPS)), encoding="ascii")
        self._passing.append((until, lambda: clock.unlink(missing_ok=True)))
        return True

    def _fill_disk(self, until: float) -> bool:
        self._passing.append((until, self._stage.disk.free))
        return self._stage.disk.fill()

    def _tear(self, random: Random) -> bool:
        """Somebody dies in the middle of a line: in its journal, in mail that it sends, or in its events."""
        root, bearers = self._stage.root, self._bearers()
        if not bearers:
            return False
        bearer = random.choice(sorted(bearers))
        own = [root / layout.journal(bearer), root / layout.events(bearer)]
        own += (root / layout.MAILBOXES).glob(f"*.d/{bearer}.jsonl")
        place, garbage = random.choice(own), random.choice(GARBAGE)
        with suppress(psutil.Error, OSError):
            psutil.Process(bearers[bearer]).kill()
            with place.open("r+b", buffering=0) as file:
                file.seek(0, os.SEEK_END)
                return bool(file.write(garbage))
        return False

    def _bearers(self) -> dict[str, int]:
        """The pid of each living process that is on record."""
        stores = self._stage.stores
        found = {
            member.bearer: member.process.pid
            for member in stores.roster.all()
            if member.process and stores.roster.is_present(member.bearer)
        }
        if self.lead and (newest := stores.leadership.newest()) and newest[1].process.pid == self.lead.pid:
            found[layout.bearer(LEAD, newest[0])] = self.lead.pid
        running = {process.pid for process in processes_at(self._stage.place)}
        return {bearer: pid for bearer, pid in found.items() if pid in running}

    def _plant(self, random: Random) -> bool:
        """The next number of a log is taken by the half of its newest record."""
        root = self._stage.root
        logs = [root / layout.GRAPH_LOG, root / layout.LEAD_LOG]
        for parent in (layout.TASK_LOGS, layout.MEMBERS, layout.RUNS):
            logs += (place for place in (root / parent).glob("*") if place.is_dir())
        log = random.choice(sorted(logs))
        numbers = [
            int(match[1]) for place in log.glob("*") if (match := layout.RECORD_NAME.fullmatch(place.name))
        ]
        if not numbers:
            return False
        newest = (log / f"{max(numbers)}.json").read_bytes()
        with suppress(OSError):
            _write_new(log / f"{max(numbers) + 1}.json", newest[: len(newest) // 2])
            return True
        return False


def _kill(process: psutil.Process) -> bool:
    try:
        process.kill()
    except psutil.Error:
        return False
    return True


def _wake(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.resume()


def _write_new(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
