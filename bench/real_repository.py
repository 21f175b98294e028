"""A team on somebody's real repository, with a scripted model: does the work come back, proven and whole?

`python -m bench.real_repository PLAY.yaml REPOSITORY` clones REPOSITORY (a path or an address that git
understands), writes the settings of the play into the clone, lets a team do its tasks, and prints one JSON
object. The exit code is 1 when something is not as it has to be: a task that is not merged, a checkout of
the person that changed, a process that was left, a merge commit that its own checks refuse.

A play is a YAML mapping: `settings` (what `leadhand.yaml` holds), `tasks` (as for `run --tasks`), `rules`
(of a playbook, see docs/playbooks.md), `needs` (programs that have to be installed), and `refused` (how often
checks refuse a completion, when the play plants a mistake). bench/plays/ has some.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from bench.checkouts import git, tell
from coordination.process import processes_at
from coordination.protocols import PERSON
from coordination.stores import open_stores
from coordination.team_root import open_team
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer

if TYPE_CHECKING:
    from coordination.records import Task

MOST_SECONDS = 1800.0
PARTS = {"settings", "tasks", "rules", "needs", "refused"}


class Play:
    """What a team has to do in a repository, and the words of its model."""

    def __init__(self, path: Path, *, needed: bool = True) -> None:
        """Unless it is only read, the programs that it needs have to be there."""
        raw: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        if unknown := raw.keys() - PARTS:
            sys.exit(f"{path}: unknown {', '.join(sorted(unknown))}; a play has {', '.join(sorted(PARTS))}")
        self.settings: dict[str, Any] = raw["settings"]
        self.tasks: list[dict[str, Any]] = raw["tasks"]
        self.playbook = Playbook.parse(yaml.safe_dump({"format": 1, "rules": raw["rules"]}), str(path))
        self.refused: int = raw.get("refused", 0)
        missing = [program for program in raw.get("needs", []) if shutil.which(program) is None]
        if missing and needed:
            sys.exit(f"{path} needs {', '.join(missing)}; install it and try again")


def clone(source: str, place: Path) -> Path:
    """A clone as a person has it, with an identity of its own."""
    subprocess.run(["git", "clone", "--quiet", source, str(place)], check=True)
    git(place, "config", "user.name", "Pat Person")
    git(place, "config", "user.email", "pat@example.org")
    return place


def lead(play: Play, repository: Path, workers: int) -> int:
    """The exit code of `leadhand run` on the tasks of the play; what happens goes to stderr."""
    file = repository.parent / "tasks.yaml"
    file.write_text(yaml.safe_dump(play.tasks), encoding="utf-8")
    with ScriptedServer(play.playbook) as server:
        environment = {
            **os.environ,
            "LEADHAND_SANDBOX": "off",
            "LEADHAND_PERMISSIONS_ALLOW": "bash",  # the plays are ours
            "MODEL_ID": "scripted",
            "ANTHROPIC_API_KEY": "no-key-needed",
            "ANTHROPIC_BASE_URL": server.url,
        }
        options = ["--tasks", str(file), "--workers", str(workers), "--json", "--no-input"]
        command = [sys.executable, "-P", "-m", "orchestrator.cli.main", "run", *options]
        trust = [*command[:4], "trust", "--yes"]  # we have looked at it
        subprocess.run(trust, cwd=repository, env=environment, check=True, stdout=sys.stderr)
        with subprocess.Popen(
            command,
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            for line in process.stdout:
                tell(json.loads(line))
            return process.wait(MOST_SECONDS)


def faults_of(play: Play, repository: Path, before: str, code: int, tasks: list[Task]) -> list[str]:
    """What is not as it has to be."""
    faults = [f"the run ended with {code}"] * bool(code)
    faults += [f"{task.subject} is {task.status}, and not merged" for task in tasks if not task.merged]
    refused = sum(task.refusals for task in tasks)
    if refused != play.refused:
        faults.append(f"{refused} completions were refused, not {play.refused}")
    if (after := state_of(repository)) != before:
        faults.append(f"the person's checkout is not what it was: {after}")
    faults += [f"process {of.pid} is left" for of in processes_at(repository)]
    faults += [
        f"git: {line}"
        for line in git(repository, "fsck", "--no-dangling", "--connectivity-only").splitlines()
    ]
    return faults


def state_of(repository: Path) -> str:
    """The person's branch, commit and edits; what the play itself wrote is left out."""
    edits = git(repository, "status", "--porcelain", "--", ".", ":!leadhand.yaml")
    return "\n".join(
        [git(repository, "rev-parse", "--abbrev-ref", "HEAD"), git(repository, "rev-parse", "HEAD"), edits]
    )


def changes(repository: Path, base: str, branch: str) -> list[str]:
    """A line for each file that came back; none when nothing was merged."""
    if not git(repository, "branch", "--list", branch):
        return []
    return git(repository, "diff", "--stat", base, branch).splitlines()


def play_in(play: Play, source: str, place: Path, workers: int) -> dict[str, Any]:
    """The run, in figures."""
    repository = clone(source, place / "repository")
    (repository / "leadhand.yaml").write_text(yaml.safe_dump(play.settings), encoding="utf-8")
    before = state_of(repository)
    started = time.monotonic()
    code = lead(play, repository, workers)
    seconds = time.monotonic() - started
    stores = open_stores(open_team(repository), PERSON)
    run, tasks = stores.runs.all()[-1], stores.tasks.all()
    live = [task for task in tasks if task.id not in {other.redo_of for other in tasks}]
    return {
        "commit": run.base,
        "files": len(git(repository, "ls-files").splitlines()),
        "tasks": len(tasks),
        "merged": sum(task.merged is not None for task in tasks),
        "refused": sum(task.refusals for task in tasks),
        "sent_back": len(tasks) - len(live),
        "changed": changes(repository, run.base, run.branch),
        "seconds": round(seconds, 1),
        "faults": faults_of(play, repository, before, code, live),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("play", type=Path)
    parser.add_argument("repository", help="path or address of a git repository; it is cloned")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a new directory for the clone; it stays for a look")
    options = parser.parse_args()
    play = Play(options.play)
    with tempfile.TemporaryDirectory(prefix="leadhand-real-") as scratch:
        place = options.keep or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        figures = play_in(play, options.repository, place.resolve(), options.workers)
    print(json.dumps({"play": options.play.stem, "repository": options.repository, **figures}, indent=2))
    return bool(figures["faults"])


if __name__ == "__main__":
    sys.exit(main())
