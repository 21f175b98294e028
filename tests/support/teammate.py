"""A teammate put together for real beside a repository, of which a test is the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_worker.compose import Teammate
from coordination import layout
from coordination.tasks.drafts import TaskDraft
from coordination.team_root import Team, create_team
from harness.settings.settings import Settings
from tests.support.people import comes_alive
from tests.support.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.records import Run, Task
    from coordination.stores import Stores
    from tests.support.clock import FakeClock

SETTINGS = Settings(model_id="scripted", api_key="secret-key", base_url="http://localhost:9", sandbox="off")
CHECKS = {"fine": "test -f fine.txt"}


def team_beside_repository(place: Path, clock: FakeClock) -> Team:
    repository = Repository.create(place / "project", {"a.py": "A = 1\n"})
    (place / "team").mkdir()
    return create_team(place / "team", repository.path, clock=clock)


def opens_run(lead: Stores) -> Run:
    """A run at the last commit, with its branch and one check."""
    base = Repository(lead.team.repository).head()
    run = lead.runs.open("Fix it", base=base, checks=CHECKS)
    return lead.runs.update(run.id, branch=f"leadhand/{run.id}")


def puts_up(lead: Stores, run: Run, subject: str = "A", **fields: Any) -> Task:
    """A task that may be claimed."""
    (task,) = lead.tasks.create([TaskDraft(subject=subject, run=run.id, **fields)])
    return lead.tasks.publish([task.id])[0]


class TeammateUnderTest:
    """Alice, with her host's parts for her task and her plan."""

    def __init__(self, team: Team, settings: Settings = SETTINGS) -> None:
        self.team = team
        self.member = comes_alive(team, "alice")
        self.teammate = Teammate(team, self.member, settings)
        self.teammate.keeper.holds(None, None)
        self.worker = self.teammate.worker()
        self.on, self.plan = self.worker._assignment, self.worker._plan
        self.stores = self.teammate.stores

    async def takes_next(self) -> Task:
        task = await self.on.take_next()
        assert task
        return task

    async def submits(self, text: str) -> str:
        """The id of the request."""
        return (await self.plan.submit_plan(text)).split()[2].rstrip(";")

    def told_lead(self) -> list[tuple[str, str]]:
        """Type and text of all her mail for the lead."""
        path = self.team.root / layout.sent("lead", f"alice~{self.member.incarnation}")
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        messages = [json.loads(line) for line in lines if line.strip()]
        return [(message["type"], message["content"]) for message in messages]
