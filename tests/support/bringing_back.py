"""A lead with completed tasks whose commits wait for the run's branch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.child import tool_environment
from coordination.clock import SystemClock
from coordination.events import EventTail
from coordination.protocols import PERSON
from coordination.records import TaskResult
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.team_root import create_team
from harness.off_loop import OffLoop
from orchestrator.merging.integration import Integration
from orchestrator.merging.sending_back import finish_sending_back
from tests.support.people import claimant, comes_alive, leads, stores_of
from workspace.checks import Verifier
from workspace.desk import Desk, Proof
from workspace.git import Git
from workspace.merge_queue import MergeQueue
from workspace.run_fence import RunFence
from workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from coordination.records import Member, Run, Task
    from coordination.stores import Stores
    from tests.support.repository import Repository

CHECKS = {"fine": "true", "red": "false", "both": "! test -e a || ! test -e b"}


class Returns:
    """The board, the run, and the lead of the present term."""

    def __init__(self, repository: Repository, run: str | None = None) -> None:
        """Without the id of its `run` the team is made."""
        self.repository = repository
        self.git = Git(repository.path)
        self.checks = dict(CHECKS)  # a test may add its own
        root = repository.path.parent / "team"
        root.mkdir(exist_ok=True)
        self.team = create_team(root, repository.path, clock=SystemClock())
        if run is None:
            self.run = self._open_run(leads(self.team))
            self.alice = comes_alive(self.team, "alice")
        else:
            self.run = open_stores(self.team, PERSON).runs.get(run)
        self.take_lead()

    def _open_run(self, lead: Stores) -> Run:
        run = lead.runs.open("Goal", base=self.repository.head(), checks=CHECKS)
        return lead.runs.update(run.id, branch=f"leadhand/{run.id}")

    def take_lead(self, *, retry_seconds: float = 0) -> None:
        """The next term begins, as a lead begins it."""
        self.lead = leads(self.team)
        term = self.lead.leadership.present()
        guard = RunFence(git=self.git, run=self.run.id, term=term).take()
        self.queue = MergeQueue(
            self.git,
            [self._verifier(number) for number in range(3)],
            branch=self.run.branch,
            base=self.run.base,
            timeout_seconds=60,
            guard=guard,
        )
        finish_sending_back(self.lead, self.run.id)
        self.integration = Integration(
            self.lead,
            self.queue,
            self.git,
            run=self.run,
            proof=Proof(checks=self.checks),
            retry_seconds=retry_seconds,
        )

    def _verifier(self, number: int) -> Verifier:
        tree = self.team.root / layout.WORKTREES / layout.verification_tree(f"merge.{number}")
        return Verifier(self.git, tree, tool_environment(), stopping=lambda: self.integration.line_is_void)

    def task(self, subject: str = "Do it", **fields: Any) -> Task:
        """A task that may be claimed."""
        (task,) = self.lead.tasks.create([TaskDraft(subject=subject, run=self.run.id, **fields)])
        return self.lead.tasks.publish([task.id])[0]

    def done(self, task: Task, commit: str) -> Task:
        """Alice completes the task with this commit, proven."""
        tasks = stores_of(self.team, self.alice).tasks
        token = tasks.claim(task.id, claimant(self.alice)).token or 0
        return tasks.complete(task.id, token, commit=commit, branch="b", result=TaskResult(verified=True))[0]

    def work(self, *files: str, check: str = "fine", text: str = "", **fields: Any) -> Task:
        """A completed task that adds these files to the run's first commit."""
        commit = self.repository.commit(dict.fromkeys(files, text), parent=self.run.base)
        return self.done(self.task(f"Add {' '.join(files)}", checks=(check,), **fields), commit)

    def works(self, name: str, *files: str) -> Member:
        """A teammate that has changed these files in the tree of a task, and goes on."""
        member = comes_alive(self.team, name)
        desk = Desk(
            self.team,
            stores_of(self.team, member).tasks,
            Worktrees(self.git, self.team.root),
            self._verifier(99),
            claimant=claimant(member),
            proof=Proof(checks=self.checks),
        )
        task = self.task(f"For {name}")
        desk.sit_down(stores_of(self.team, member).tasks.claim(task.id, desk.claimant), self.run)
        self.repository.write(dict.fromkeys(files, "own\n"), at=desk.tree)
        return member

    def mail(self, name: str) -> list[dict[str, Any]]:
        """What the lead of the present term sent to the member."""
        sent = self.team.root / layout.sent(name, self.lead.actor)
        return (
            [json.loads(line) for line in sent.read_text("utf-8").splitlines() if line]
            if sent.exists()
            else []
        )

    async def bring_all_back(self) -> None:
        """The lead brings back what it can."""
        while await self.integration.bring_back(OffLoop()):
            pass

    def on_branch(self) -> list[str]:
        return self.repository.git("ls-tree", "-r", "--name-only", self.run.branch).split()

    def merges(self) -> list[str]:
        """Subjects of the merge commits, the oldest first."""
        return self.repository.git(
            "log", "--merges", "--reverse", "--format=%s", self.run.branch
        ).splitlines()

    def events(self, action: str) -> list[dict[str, Any]]:
        return [event for event in EventTail(self.team.directory).read_new() if event["action"] == action]
