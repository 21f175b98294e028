"""Doubles of what a role's host does for its model: it notes what was asked."""

from __future__ import annotations

from typing import Any


class FakeWork:
    """Satisfies `harness.tools.tasks.Work`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def claim(self, task_id: str) -> str:
        self.asked.append(("claim", task_id))
        return "work in /tree"

    async def complete(self, summary: str) -> str:
        self.asked.append(("complete", summary))
        return "completed"


class FakeLeading:
    """Satisfies `harness.tools.team.Leading` and `Planner`."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    async def spawn(self, args: dict[str, Any]) -> str:
        self.asked.append(("spawn", args))
        return "starting"

    async def require_plan(self, teammate: str, what: str) -> str:
        self.asked.append(("require_plan", teammate, what))
        return "closed"

    async def review_plan(self, request_id: str, *, approve: bool, feedback: str) -> str:
        self.asked.append(("review_plan", request_id, approve, feedback))
        return "decided"

    async def request_shutdown(self, teammate: str) -> str:
        self.asked.append(("request_shutdown", teammate))
        return "asked"

    async def submit_plan(self, plan: str, scope: dict[str, Any] | None = None) -> str:
        self.asked.append(("submit_plan", plan, *([scope] if scope else [])))
        return "submitted"
