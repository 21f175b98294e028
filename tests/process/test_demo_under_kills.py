"""`kill -9` at random moments of the demo: status tells the truth, it comes to its end, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from contextlib import closing, suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from coordination.clock import SystemClock
from coordination.events import EventTail
from coordination.process import processes_at, start_mark
from coordination.protocols import PERSON
from coordination.stores import Stores, open_stores
from coordination.team_root import open_team
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from orchestrator.chaos.proof import mail_by_fate
from orchestrator.demo.demo import GOAL, make_repository
from orchestrator.launchers.local import TEAMMATE
from orchestrator.lead.opening import make_team
from tests.support.repository import Repository
from tests.support.team_process import TTL_SECONDS, Command, Ended
from tests.support.trust import trusts

if TYPE_CHECKING:
    from pathlib import Path


PATIENCE_SECONDS = 120.0
KILLS = 3  # of each round
EVENTS = 70  # about so many does the demo have
SUBJECTS = {
    "Make money exact",
    "Give the discount from ten on",
    "Align the invoice",
    "Show discounts and VAT on the invoice",
}
# A lead that takes over: it decides open plans, completes the board, and calls for fresh hands. It finds
# the board in its brief, or looks at it where an earlier lead's calls were cut short. A teammate that was
# cut off while it handed its work in does so again.
RESUMED = """\
format: 1
rules:
  - when: {system: role=teammate, tools_called: complete_task$, last_result: outcome_unknown}
    call: {complete_task: {summary: It is done; I was cut off when I said so.}}
  - when: {system: role=lead, last_result: outcome_unknown}
    call: {list_tasks: {}}
  - when: {system: role=lead, tools_called: list_tasks$, last_result: '^(?!.*Show discounts).*Align the'}
    call: [@SHOP@, list_tasks: {}]
  - when: {system: role=lead, tools_called: list_tasks$, last_result: '^(?!.*Align the).*Give the'}
    call: [@INVOICE@, @SHOP@, list_tasks: {}]
  - when: {system: role=lead, tools_called: list_tasks$, last_result: '^(?!.*Give the).*Make money'}
    call: [@BASKET@, @INVOICE@, @SHOP@, list_tasks: {}]
  - when: {system: role=lead, tools_called: list_tasks$, last_result: '^no tasks yet'}
    call: [@MONEY@, @BASKET@, @INVOICE@, @SHOP@, list_tasks: {}]
  - when:
      system: role=lead
      last_user: 'type="plan_request" [^>]*request="(?P<request>req_\\w+)"'
      last_result: '^(?!.*(plan approved|cannot_be))'
    call: {review_plan: {request_id: '${request}', approve: true}}
  - when: {system: role=lead, last_user: 'type="plan_request" [^>]*request="(?P<request>req_\\w+)"'}
    times: 3
    call: {review_plan: {request_id: '${request}', approve: true}}
  - when: {system: role=lead, tools_called: ^$, last_user: 'Open plan requests:\\n(?P<request>req_\\w+)'}
    call: {review_plan: {request_id: '${request}', approve: true}}
  - when: {system: role=lead, last_user: '\\[Resumed\\].*Show discounts', tools_called: '^(review_plan)?$'}
    call: {list_tasks: {}}
  - when: {system: role=lead, last_user: '\\[Resumed\\].*Align the', tools_called: '^(review_plan)?$'}
    call: [@SHOP@, list_tasks: {}]
  - when: {system: role=lead, last_user: '\\[Resumed\\].*Give the', tools_called: '^(review_plan)?$'}
    call: [@INVOICE@, @SHOP@, list_tasks: {}]
  - when: {system: role=lead, last_user: '\\[Resumed\\].*Make money', tools_called: '^(review_plan)?$'}
    call: [@BASKET@, @INVOICE@, @SHOP@, list_tasks: {}]
  - when:
      system: role=lead
      tools_called: list_tasks$
      last_result: '@BOARD@'
    call:
      - update_task: {task_id: '${shop}', add_blocked_by: ['${money}', '${basket}', '${invoice}']}
      - spawn_teammate: {name: dora}
      - spawn_teammate: {name: eli}
  - when: {system: role=lead, last_user: nobody_works, last_result: ^$}
    call: [spawn_teammate: {name: fay}, spawn_teammate: {name: gil}]
"""
TASKS = {
    "@MONEY@": "subject: Make money exact, checks: [money]",
    "@BASKET@": "subject: Give the discount from ten on, checks: [basket]",
    "@INVOICE@": "subject: Align the invoice, checks: [invoice], require_plan: true",
    "@SHOP@": "subject: Show discounts and VAT on the invoice, checks: [shop]",
}
WORDS = {"money": "Make money", "basket": "Give the", "invoice": "Align the", "shop": "Show discounts"}
BOARD = ".*".join(rf"(?P<{key}>task_\w+)  \[[^\n]*{word}" for key, word in WORDS.items())


def playbook() -> Playbook:
    text = resources.files("orchestrator.demo").joinpath("playbook.yaml").read_text(encoding="utf-8")
    resumed = RESUMED.replace("@BOARD@", BOARD)
    for place, task in TASKS.items():
        resumed = resumed.replace(place, f"create_task: {{description: As it should be, {task}}}")
    return Playbook.parse(resumed + text.partition("rules:\n")[2])


class Round:
    """One demo, and what is done to it."""

    def __init__(self, place: Path, url: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.place = place
        self.root = make_repository(place)
        make_team(self.root, None)
        trusts(self.root)
        self.stores: Stores = open_stores(open_team(self.root), PERSON)
        self.clock = SystemClock()
        self.environment = {
            **os.environ,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "no-key-needed",
            "MODEL_ID": "scripted",
            "LEADHAND_LEASE_TTL_SECONDS": str(TTL_SECONDS),
            "LEADHAND_TASK_MAX_ATTEMPTS": "9",
        }
        self.commands: list[Command] = []

    def start(self, *arguments: str) -> Command:
        log = self.place / f"{len(self.commands):02d}-{arguments[0]}"
        self.commands.append(Command(arguments, cwd=self.root, environment=self.environment, log=log))
        return self.commands[-1]

    def close(self) -> None:
        """Nothing runs, even if it should not have come to that."""
        for pid, _ in self.living():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for command in self.commands:
            command.process.wait()

    def play(self) -> Ended:
        """The end of the run, whoever brought it there."""
        lead = self.start("run", GOAL, "--yes", "--no-input", "--json")
        moments = sorted(self.random.randrange(EVENTS) for _ in range(KILLS))
        for moment in moments:
            self.until(
                lambda moment=moment, lead=lead: lead.process.poll() is not None or self._events() >= moment
            )
            if self.random.random() < 0.5:
                lead = self._kill_lead(lead)
            else:
                self._kill_worker()
            self._check_status()
        while self.stores.runs.open_run():
            ended = self._end(lead)
            if self.stores.runs.open_run():
                assert ended.code in {-signal.SIGKILL, 1}, ended
                lead = self.start("resume", "--yes", "--no-input", "--json")
        return self._end(lead)

    def _end(self, lead: Command) -> Ended:
        self.until(lambda: lead.process.poll() is not None)
        return lead.end()

    def _kill_lead(self, lead: Command) -> Command:
        lead.signal(signal.SIGKILL)
        lead.process.wait()
        self._check_status()
        if self.stores.runs.open_run():
            return self.start("resume", "--yes", "--no-input", "--json")
        if self.stores.runs.all():
            return lead
        return self.start("run", GOAL, "--yes", "--no-input", "--json")

    def _kill_worker(self) -> None:
        workers = sorted(pid for pid, arguments in self.living() if TEAMMATE in arguments)
        if workers:
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(self.random.choice(workers))
                process.kill()
                self.until(lambda: not runs(process.pid))

    def _check_status(self) -> None:
        """What `status` says of processes and tasks is so, unless it has changed meanwhile."""
        before = self._facts()
        told = json.loads(self.start("status", "--json").end().out)
        after = self._facts()
        for who, fact in before.items() & after.items():
            assert told_of(told)[who] == fact, (who, fact, told)

    def _facts(self) -> dict[str, str]:
        """The pid or death of each member with a process and of the lead, and who owns which task."""
        facts = {task.subject: f"{task.status} {task.owner}" for task in self.stores.tasks.all()}
        for member in self.stores.roster.all():
            if member.process and member.state == "alive":
                alive = psutil.pid_exists(member.process.pid) and runs(member.process.pid)
                facts[member.name] = "alive" if alive else "dead"
        newest = self.stores.leadership.newest()
        if newest and not newest[1].ended:
            facts["lead"] = "alive" if runs(newest[1].process.pid) else "dead"
        return facts

    def _events(self) -> int:
        return len(EventTail(self.stores.team.directory).read_new())

    def until(self, condition: Any) -> None:
        deadline = self.clock.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert self.clock.monotonic() < deadline
            self.clock.sleep(0.03)

    def living(self) -> list[tuple[int, list[str]]]:
        found = []
        for process in processes_at(self.root):
            with suppress(psutil.Error):
                found.append((process.pid, process.cmdline()))
        return found


def runs(pid: int) -> bool:
    return start_mark(pid) is not None


def told_of(told: dict[str, Any]) -> dict[str, str]:
    """A living lead starts a dead member anew, which is the truth as well."""
    leads = told["lead"] and told["lead"]["state"] == "alive"
    return {
        **{task["subject"]: f"{task['status']} {task['owner']}" for task in told["tasks"]},
        **{
            member["name"]: "dead" if leads and member["state"] == "restarting" else member["state"]
            for member in told["members"]
        },
        **({"lead": told["lead"]["state"]} if told["lead"] else {}),
    }


@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=pytest.mark.stress) for n in range(1, 21)],
)
def test_the_demo_comes_to_its_end_whoever_is_killed(tmp_path: Path, seed: int) -> None:
    with ScriptedServer(playbook()) as server, closing(Round(tmp_path, server.url, seed)) as played:
        ended = played.play()
        stores = played.stores
        (run,) = (run for run in stores.runs.all() if stores.tasks.all(run.id))
        assert run.state == "done", ended
        merged = Counter(task.subject for task in stores.tasks.all(run.id) if task.merged)
        assert merged == Counter(SUBJECTS)
        subjects = (
            Repository(played.root).git("log", "--first-parent", "--format=%s", run.branch).splitlines()
        )
        assert Counter(subjects) == Counter(f"Merge {subject}" for subject in SUBJECTS) + Counter(
            ["Open the shop"]
        )
        fates = mail_by_fate(stores)
        assert (fates["lost"], fates["doubled"]) == ([], [])
        assert played.start("fsck", "--repair").end().code == 0
        played.until(lambda: played.living() == [])
