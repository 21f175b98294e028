"""Run a team on QuixBugs (github.com/jkoppel/QuixBugs) with planted mistakes, and count what was caught.

Every program with a test file becomes a task whose check is that test file. The scripted model applies the
set's own corrected version, except for six programs: two wrong fixes and two endless loops, mended at the
second try, and two that are called done again and again although nothing was changed. The counts are read
from the team's directory and printed as one JSON object; the exit code is 1 when they are not as planted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench.checkouts import copy_content, git, tell, write
from bench.quixbugs_rules import PLANTED, Kind, rules_for
from coordination.process import processes_at
from coordination.protocols import PERSON
from coordination.records import Status, Task
from coordination.stores import Stores, open_stores
from coordination.team_root import open_team
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer

SECONDS_PER_TEST = 3
SECONDS_PER_CHECK = 60  # much more than a good test file needs on a busy machine
MOST_SECONDS = 1800.0
TEAM_FAILED = 1  # exit code of `leadhand run` when tasks have failed
TIMED_OUT = "Timeout (>"  # what pytest-timeout says
IGNORED = "__pycache__/\n.pytest_cache/\n"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the disk says of one program."""

    program: str
    kind: Kind
    status: Status
    merged: bool
    refusals: int  # by checks
    slow: int  # of these, refusals of a right version because a test took too long on a busy machine
    again: bool  # the merge queue sent it back
    caught: bool  # a refusal with a red check is in its history, and so is what became of it

    @property
    def is_as_planted(self) -> bool:
        match self.kind:
            case Kind.MENDED:
                return self.merged and self.refusals == self.slow
            case Kind.WRONG | Kind.ENDLESS:
                return self.merged and self.caught
            case Kind.FALSE_DONE:
                return self.status is Status.FAILED and self.caught and not self.merged


@dataclass(kw_only=True)
class Bench:
    """One run over a number of programs."""

    repository: Path
    workers: int
    programs: list[str]
    faults: list[str] = field(default_factory=list)

    def kind(self, program: str) -> Kind:
        return PLANTED.get(program, Kind.MENDED)

    def prepare(self) -> None:
        """The repository has one commit, and the tasks file lies beside it."""
        write(self.repository / ".gitignore", IGNORED)
        write(self.repository / "leadhand.yaml", f"check:\n  timeout_seconds: {SECONDS_PER_CHECK}\n")
        git(self.repository, "init", "--quiet", "--initial-branch", "main")
        git(self.repository, "add", "--all")
        git(self.repository, "commit", "--quiet", "--message", "Start from QuixBugs")
        tasks = [
            {
                "key": program,
                "subject": f"Mend {program}",
                "description": f"python_programs/{program}.py has one bug; its tests say what it should do.",
                "checks": [self.tests(program)],
            }
            for program in self.programs
        ]
        write(self.tasks_file, yaml.safe_dump(tasks, sort_keys=False))

    @property
    def tasks_file(self) -> Path:
        return self.repository.parent / "tasks.yaml"

    def tests(self, *programs: str, seconds: int = SECONDS_PER_TEST) -> str:
        files = " ".join(f"python_testcases/test_{program}.py" for program in programs)
        return f"{shlex.quote(sys.executable)} -m pytest -q --timeout {seconds} {files}"

    def playbook(self) -> Playbook:
        rules = list(rules_for({program: self.kind(program) for program in self.programs}))
        return Playbook.parse(yaml.safe_dump({"format": 1, "rules": rules}, sort_keys=False), "quixbugs")

    def lead(self) -> int:
        """The exit code of `leadhand run` over the tasks file."""
        with ScriptedServer(self.playbook()) as server:
            environment = {
                **os.environ,
                "LEADHAND_PERMISSIONS_ALLOW": "bash(cp *)",
                "LEADHAND_SANDBOX": "off",
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "no-key-needed",
                "MODEL_ID": "scripted",
            }
            command = [sys.executable, "-P", "-m", "orchestrator.cli.main", "run", "--json", "--no-input"]
            command += ["--tasks", str(self.tasks_file), "--workers", str(self.workers)]
            trust = [*command[:4], "trust", "--yes"]  # we have looked at it
            subprocess.run(trust, cwd=self.repository, env=environment, check=True, stdout=sys.stderr)
            with subprocess.Popen(
                command, cwd=self.repository, env=environment, stdout=subprocess.PIPE, text=True
            ) as lead:
                assert lead.stdout is not None
                for line in lead.stdout:
                    tell(json.loads(line))
                return lead.wait(MOST_SECONDS)

    def outcomes(self) -> list[Outcome]:
        """Read from the disk, program by program."""
        stores = open_stores(open_team(self.repository), PERSON)
        tasks = stores.tasks.all(stores.runs.all()[-1].id)
        by_program: dict[str, list[Task]] = {program: [] for program in self.programs}
        for task in tasks:
            by_program[task.subject.removeprefix("Mend ")].append(task)
        return [self.outcome(stores, program, versions) for program, versions in by_program.items()]

    def outcome(self, stores: Stores, program: str, tasks: list[Task]) -> Outcome:
        newest = tasks[-1]
        refused = [
            version
            for task in tasks
            for _, version in stores.tasks.history(task.id)
            if version.refusals and version.event in {"refuse", "fail"}
        ]
        caught = [version for version in refused if any(red(check.exit_code) for check in checks(version))]
        slow = sum(is_slow(version) for version in refused) if self.kind(program) is Kind.MENDED else 0
        enough = newest.max_attempts if self.kind(program) is Kind.FALSE_DONE else 1
        return Outcome(
            program=program,
            kind=self.kind(program),
            status=newest.status,
            merged=newest.merged is not None,
            refusals=len(refused),
            slow=slow,
            again=len(tasks) > 1,
            caught=len(caught) >= enough,
        )

    def prove(self, outcomes: list[Outcome]) -> None:
        """The run's branch passes the tests of all that was merged, and the person's branch is as it was."""
        merged = [outcome.program for outcome in outcomes if outcome.merged]
        stores = open_stores(open_team(self.repository), PERSON)
        branch = stores.runs.all()[-1].branch
        if merged:
            tree = self.repository.parent / "merged"
            git(self.repository, "worktree", "add", "--quiet", "--detach", str(tree), branch)
            command = shlex.split(self.tests(*merged, seconds=10 * SECONDS_PER_TEST))
            ended = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
            if ended.returncode:
                self.faults.append(f"the merged branch fails tests: {ended.stdout[-2000:]}")
        if git(self.repository, "status", "--porcelain", "--untracked-files=all"):
            self.faults.append("the person's checkout was changed")
        left = list(processes_at(self.repository))
        if left:
            self.faults.append(f"processes are left: {left}")

    def judge(self, code: int, outcomes: list[Outcome]) -> None:
        failures = any(outcome.kind is Kind.FALSE_DONE for outcome in outcomes)
        if code != (TEAM_FAILED if failures else 0):
            self.faults.append(f"leadhand run ended with {code}")
        self.faults += [f"not as planted: {outcome}" for outcome in outcomes if not outcome.is_as_planted]


def checks(version: Task) -> tuple[Any, ...]:
    return version.result.checks if version.result else ()


def red(exit_code: int | None) -> bool:
    return exit_code != 0


def is_slow(version: Task) -> bool:
    return any(check.exit_code is None or TIMED_OUT in check.output for check in checks(version))


def programs_of(place: Path, most: int | None) -> list[str]:
    """The programs with a test file and a corrected version, planted ones first."""
    names = [path.stem.removeprefix("test_") for path in sorted(place.glob("python_testcases/test_*.py"))]
    known = [
        name
        for name in names
        if all(
            (place / side / f"{name}.py").exists() for side in ("python_programs", "correct_python_programs")
        )
    ]
    first = [name for name in PLANTED if name in known]
    return list(itertools.islice(dict.fromkeys([*first, *known]), most))


def counts(bench: Bench, outcomes: list[Outcome], seconds: float) -> dict[str, Any]:
    planted = [outcome for outcome in outcomes if outcome.kind is not Kind.MENDED]
    kinds = {
        str(kind): dict(
            Counter(str(outcome.status) for outcome in outcomes if outcome.kind is kind),
            refusals=sum(outcome.refusals for outcome in outcomes if outcome.kind is kind),
        )
        for kind in Kind
    }
    return {
        "tasks": len(outcomes),
        "merged": sum(outcome.merged for outcome in outcomes),
        "failed": sum(outcome.status is Status.FAILED for outcome in outcomes),
        "planted": len(planted),
        "caught": sum(outcome.caught for outcome in planted),
        "refusals": sum(outcome.refusals for outcome in outcomes),
        "slow_tests": sum(outcome.slow for outcome in outcomes),
        "sent_back": sum(outcome.again for outcome in outcomes),
        "kinds": kinds,
        "workers": bench.workers,
        "seconds": round(seconds, 1),
        "faults": bench.faults,
    }


def make_bench(options: argparse.Namespace, place: Path) -> Bench:
    repository = place / "repository"
    repository.mkdir()
    copy_content(options.quixbugs.resolve(), repository)
    programs = programs_of(repository, options.programs)
    if not programs:
        sys.exit(f"{options.quixbugs} holds no QuixBugs: no python_testcases/test_*.py with its two programs")
    bench = Bench(repository=repository, workers=options.workers, programs=programs)
    bench.prepare()
    return bench


def main() -> int:
    """Print the counts; 1 when anything is not as planted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quixbugs", type=Path, required=True, metavar="DIR", help="a checkout or git directory"
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--programs", type=int, metavar="N", help="only so many, planted ones first")
    parser.add_argument("--keep", action="store_true", help="leave the team's directory for a look")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="quixbugs-")).resolve()
    try:
        bench = make_bench(options, place)
        started = time.monotonic()
        code = bench.lead()
        seconds = time.monotonic() - started
        outcomes = bench.outcomes()
        bench.judge(code, outcomes)
        bench.prove(outcomes)
    finally:
        if options.keep:
            print(f"kept in {place}", file=sys.stderr)
        else:
            shutil.rmtree(place)
    print(json.dumps(counts(bench, outcomes, seconds), indent=2))
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
