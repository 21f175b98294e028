"""The demo: a small real repository, a whole team, one accident, and a look whether all of it happened."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordination import layout
from coordination.child import tool_environment
from coordination.errors import UsageError
from coordination.protocols import PERSON
from coordination.roster import Roster
from coordination.stores import open_stores
from harness.scripted.playbook import Playbook
from harness.scripted.server import ScriptedServer
from orchestrator.demo.proof import missing
from orchestrator.lead.opening import make_team
from orchestrator.lead.options import RunOptions
from orchestrator.lead.session import start_run
from orchestrator.terminal.plain import echo
from workspace.checks import Verifier, passed
from workspace.sandbox.program import SandboxMissing, find_bubblewrap
from workspace.sandbox.sandbox import BUBBLEWRAP, OFF
from workspace.worktrees import trees_directory

if TYPE_CHECKING:
    from coordination.team_root import Team
    from workspace.git import Git

NAME = "leadhand-demo"
MARK = ".leadhand-demo"  # inside .git: this directory is ours to remove
GOAL = "Make the failing tests of the shop pass, side by side where that is possible."
VICTIM = "ana"
SETTINGS = """\
# Commands that prove work; each runs on a clean checkout of a commit.
checks:
  money: {python} -m unittest tests.test_money
  basket: {python} -m unittest tests.test_basket
  invoice: {python} -m unittest tests.test_invoice
  shop: {python} -m unittest
"""


@dataclass(kw_only=True)
class Accident:
    """Kills one teammate in the middle of its work: SIGKILL after its first edit."""

    team: Team
    done: bool = False

    def __call__(self, event: dict[str, Any]) -> None:
        is_time = event.get("action") == "tool_ran" and event.get("tool") == "edit_file"
        if self.done or not is_time or not str(event.get("who")).startswith(f"{VICTIM}~"):
            return
        member = Roster(self.team, PERSON).member(VICTIM)
        if member and member.process:
            self.done = True
            os.kill(member.process.pid, signal.SIGKILL)
            told = f"         demo     kill -9 {VICTIM}, in the middle of its work"
            echo(click.style(told, fg="red", bold=True))


def make_repository(parent: Path) -> Path:
    """A new directory with the shop, its settings, and one commit."""
    place = next(path for path in _places(parent) if not path.exists())
    shutil.copytree(str(resources.files("orchestrator.demo").joinpath("project")), place)
    settings = SETTINGS.format(python=sys.executable)
    (place / "leadhand.yaml").write_text(settings, encoding="utf-8")
    (place / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    (first_commit(place, "Open the shop") / MARK).touch()
    return place


def first_commit(place: Path, subject: str) -> Path:
    """The directory is a repository of which everything is committed; returns its git directory."""
    import git  # noqa: PLC0415 - costs 120 ms, and only a repository that we make ourselves needs it

    author = git.Actor("leadhand", "leadhand@leadhand.invalid")
    with git.Repo.init(place, initial_branch="main") as repository:
        repository.git.add("--all")
        repository.index.commit(subject, author=author, committer=author)
        return Path(repository.git_dir)


def _places(parent: Path) -> list[Path]:
    return [parent / NAME, *(parent / f"{NAME}-{number}" for number in range(2, 100))]


def clean(parent: Path) -> list[Path]:
    """The directories of earlier demos are gone; nothing else is touched."""
    removed = []
    for place in _places(parent):
        if (place / ".git" / MARK).exists():
            shutil.rmtree(place)
            removed.append(place)
    return removed


def run_demo(parent: Path) -> int:
    """Run the demo below `parent`; 0 when everything that it is to show did happen."""
    if not os.access(parent, os.W_OK):
        raise UsageError(detail=f"cannot write in {parent}; start the demo in a directory of yours")
    place = make_repository(parent)
    team, git = make_team(place, None)
    echo(click.style(f"leadhand demo in {place}, with a scripted model: no key, no network\n", bold=True))
    _say_tests("before", _is_green(team, git, "HEAD"))
    text = resources.files("orchestrator.demo").joinpath("playbook.yaml").read_text(encoding="utf-8")
    accident = Accident(team=team)
    with ScriptedServer(Playbook.parse(text, "playbook.yaml")) as server:
        options = RunOptions(
            start=place,
            yes=True,
            no_input=True,
            listener=accident,
            made_repository=True,
            flags={
                "model.id": "scripted",
                "model.base_url": server.url,
                "model.api_key": "scripted-no-key-needed",
                "plan_reviewer": "lead",
                "sandbox": _sandbox(place),
                **_servers(),
            },
        )
        code = start_run(options, goal=GOAL)
    return _judge(team, git, code)


def _sandbox(place: Path) -> str:
    """Inside bubblewrap where it works; what the demo runs is its own, so elsewhere it runs as it is."""
    try:
        find_bubblewrap(place)
    except SandboxMissing as missing:
        echo(f"{missing.why}: the demo's own commands run without a sandbox")
        return OFF
    return BUBBLEWRAP


def _servers() -> dict[str, object]:
    """Two MCP servers of the demo, and what the person allows of them."""
    here = Path(str(resources.files("orchestrator.demo")))
    return {
        "mcp.config": [str(here / "mcp.json")],
        "mcp.variables": {"DEMO_PYTHON": sys.executable, "DEMO_SERVERS": str(here / "servers")},
        "permissions.allow": ["connect_mcp", "mcp__docs__*", "mcp__deploy__status"],
        "guard.trusted_servers": ["docs", "deploy"],
    }


def _judge(team: Team, git: Git, code: int) -> int:
    stores = open_stores(team, PERSON)
    run = stores.runs.all()[-1]
    green = _is_green(team, git, run.branch) if git.tip(run.branch) else False
    _say_tests(f"on {run.branch}", green)
    faults = missing(stores, run) + ([] if green else ["the tests on the run's branch are not green"])
    faults += [] if code == 0 else [f"the run ended with exit code {code}"]
    for fault in faults:
        echo(click.style(f"did not happen: {fault}", fg="red"))
    _show_ways(team.root, run.branch)
    return 1 if faults else 0


def _is_green(team: Team, git: Git, name: str) -> bool:
    tree = trees_directory(team, None) / layout.verification_tree("demo")
    verifier = Verifier(git, tree, tool_environment())
    return passed(verifier.verify(git.commit_of(name), {"tests": f"{sys.executable} -m unittest"}, 60))


def _say_tests(when: str, green: bool) -> None:  # noqa: FBT001 - what is said
    text = "all tests are green" if green else "some tests fail"
    echo(click.style(f"{when}: {text}", fg="green" if green else "yellow", bold=True))


def _show_ways(root: Path, branch: str) -> None:
    command = "leadhand" if shutil.which("leadhand") else str(Path(sys.executable).with_name("leadhand"))
    echo(
        f"\nlook at it:\n"
        f"  cd {root}\n"
        f"  {command} status\n"
        f"  cat .tasks/task_*.json       the tasks, as the team sees them\n"
        f"  ls .tasks/log/*              every version of each task\n"
        f"  cat mailboxes/lead.jsonl     what the lead was told\n"
        f"  git log --graph --oneline {branch}\n"
        f"  cd .. && {command} demo --clean"
    )
