"""Chaos: runs of a scripted team under accidents, and a look whether anything was lost or done twice."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from coordination.clock import SystemClock
from coordination.process import processes_at
from orchestrator.chaos.accidents import Accidents
from orchestrator.chaos.proof import mail_by_fate, task_faults
from orchestrator.chaos.schedule import schedule
from orchestrator.chaos.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.launchers.local import LocalProcess

TASKS_OF_A_RUN, TASKS_OF_THE_LAST = 8, 2
LOOK_SECONDS = 0.1
REST_SECONDS = 0.5  # before a command that failed is repeated
PATIENCE_SECONDS = 240.0  # for a run to finish to which nothing happens
ENDING_SECONDS = 20.0  # for processes to be gone after that
INNER_ERROR = re.compile(r"Traceback|an error inside leadhand|the teammate failed")


class Chaos:
    """One seed, from the first accident to the verdict."""

    def __init__(self, stage: Stage, *, seed: int, minutes: float, say: Callable[[str], None]) -> None:
        self.faults: list[str] = []
        self._stage = stage
        self._seed = seed
        self._minutes = minutes
        self._say = say
        self._clock = SystemClock()
        self._accidents = Accidents(stage, follow=lambda: self._lead("resume", "--yes"))
        self._exits: Counter[int] = Counter()  # codes of leads
        self._leads = 0
        self._runs: dict[str, list[str]] = {}  # names of tasks files, and the subjects of their tasks
        self._next_try = 0.0

    def run(self) -> dict[str, Any]:
        """All accidents happened, the team was left alone and has finished; returns what was counted."""
        begin = self._clock.monotonic()
        for accident in schedule(self._seed, self._minutes * 60):
            self._let_work(begin + accident.at_seconds)
            self._accidents.strike(accident, self._clock.monotonic())
            self._say(f"{accident.at_seconds:6.1f} s  {accident.kind}")
        self._let_work(begin + self._minutes * 60)
        self._say("no more accidents; the team finishes")
        self._accidents.pass_by()
        self._finish()
        waited = mail_by_fate(self._stage.stores)["waiting"]
        self._begin_run(TASKS_OF_THE_LAST)  # whose lead hears what the others left
        self._finish()
        self._check_processes()
        found = self._check_files()
        mail = self._check_mail(waited)
        return self._counts(mail, found)

    def _let_work(self, until: float) -> None:
        while (now := self._clock.monotonic()) < until:
            self._accidents.pass_by(now)
            self._tend(more=True)
            self._clock.sleep(LOOK_SECONDS)

    def _finish(self) -> None:
        deadline = self._clock.monotonic() + PATIENCE_SECONDS
        while self._tend(more=False):
            if self._clock.monotonic() > deadline:
                self.faults.append(f"the team did not finish in {PATIENCE_SECONDS:g} s")
                return
            self._clock.sleep(LOOK_SECONDS)

    def _tend(self, *, more: bool) -> bool:
        """There is a lead, as if a person looked after it; False when there is nothing left to do."""
        lead = self._accidents.lead
        if lead and (code := lead.ended()) is None:
            return True
        if lead:
            self._exits[code or 0] += 1
            self._accidents.lead = next(
                (former for former in self._accidents.followed if former.ended() is None), None
            )  # it may have woken in time to go on
            return True
        if self._clock.monotonic() < self._next_try:
            return True
        self._next_try = self._clock.monotonic() + REST_SECONDS
        stores = self._stage.stores
        if stores.runs.open_run():
            self._accidents.lead = self._lead("resume", "--yes")
        elif self._runs and not {task.subject for task in stores.tasks.all()} & set(self._newest()[1]):
            self._repeat_run()  # nothing came of it
        elif more:
            self._begin_run(TASKS_OF_A_RUN)
        return self._accidents.lead is not None

    def _begin_run(self, size: int) -> None:
        name = f"run{len(self._runs) + 1}"
        self._runs[f"{name}.yaml"] = [f"{name}-{number}" for number in range(size)]
        self._repeat_run()

    def _repeat_run(self) -> None:
        self._accidents.lead = self._lead("run", "--tasks", str(self._stage.tasks_file(*self._newest())))

    def _newest(self) -> tuple[str, list[str]]:
        return list(self._runs.items())[-1]

    def _lead(self, *arguments: str) -> LocalProcess:
        self._leads += 1
        return self._stage.lead(*arguments)

    def _check_processes(self) -> None:
        deadline = self._clock.monotonic() + ENDING_SECONDS
        while (left := list(processes_at(self._stage.place))) and self._clock.monotonic() < deadline:
            self._clock.sleep(LOOK_SECONDS)
        self.faults += [f"left running: {process}" for process in left]
        for lead in self._accidents.followed:
            self._exits[lead.ended() or 0] += 1

    def _check_files(self) -> int:
        """How many findings `fsck --repair` had; what it leaves is a fault, and so is an error of ours."""
        code, said = self._stage.call("fsck", "--repair")
        if code != 0:
            self.faults.append(f"fsck --repair ended with {code}: {said[-2000:]}")
        self.faults += [
            f"an unexpected error, see {log.name}"
            for log in self._stage.logs()
            if INNER_ERROR.search(log.read_text("utf-8", "replace"))
        ]
        return len(re.findall(r"^(?:repaired|error|warning|note): ", said, re.MULTILINE))

    def _check_mail(self, waited: list[str]) -> dict[str, int]:
        fates = mail_by_fate(self._stage.stores)
        for fate in ("lost", "doubled"):
            self.faults += [f"mail {fate}: {message}" for message in fates[fate]]
        self.faults += [f"mail not heard: {message}" for message in fates["waiting"] if message in waited]
        return {fate: len(messages) for fate, messages in fates.items() if messages}

    def _counts(self, mail: dict[str, int], found: int) -> dict[str, Any]:
        stores = self._stage.stores
        tasks = stores.tasks.all()
        for name, keys in self._runs.items():
            runs = [run for run in stores.runs.all() if run.goal == f"the tasks of {name}"]
            self.faults += task_faults(stores, self._stage.git, runs, keys)
        return {
            "seed": self._seed,
            "minutes": self._minutes,
            "accidents": {str(kind): number for kind, number in sorted(self._accidents.happened.items())},
            "left_out": self._accidents.left_out,
            "runs": len(self._runs),
            "leads": self._leads,
            "exits_of_leads": {str(code): number for code, number in sorted(self._exits.items())},
            "tasks": dict(Counter(str(task.status) for task in tasks)),
            "taken_back": sum(task.attempts for task in tasks),
            "mail": mail,
            "fsck_found": found,
            "faults": self.faults,
            "replay": f"leadhand chaos --seed {self._seed} --minutes {self._minutes:g}",
        }


def run_chaos(*, seed: int, minutes: float, say: Callable[[str], None]) -> dict[str, Any]:
    """What was counted; with a fault, `kept` is a copy of the place where it happened."""
    stage = Stage()
    whole = False
    try:
        counts = Chaos(stage, seed=seed, minutes=minutes, say=say).run()
        whole = not counts["faults"]
    finally:
        kept = stage.close(keep=not whole)
    return counts | ({"kept": str(kept)} if kept else {})
