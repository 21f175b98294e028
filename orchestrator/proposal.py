"""The team that the person confirms before its first member starts: tasks, members, limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import starmap
from textwrap import shorten
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordination.records import Member, Run, Task
    from harness.models.limits import Limits
    from harness.models.prices import Price
    from harness.roles.catalog import RoleCatalog
    from harness.roles.role import Role

SHOWN = 20  # uncommitted files that are named one by one
DESCRIPTION = 100  # characters of that of a role; the whole is in its file


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One screen: what will be done, by whom, within which limits."""

    run: Run
    tasks: Sequence[Task]
    members: Sequence[Member]
    every_task: Sequence[str]  # names of the checks that all tasks have to pass
    max_workers: int
    repository: str
    roles: RoleCatalog
    sandbox: str  # where commands run, in words
    limits: Mapping[str, Limits]  # of task, member and team
    prices: Mapping[str, Price | None]  # of the models in use; None where nobody wrote it down
    unseen_edits: Sequence[str] = ()  # uncommitted changes that the team does not see

    @property
    def described(self) -> list[Role]:
        """The roles of the members that files describe."""
        used = {member.role for member in self.members}
        return [role for name, role in self.roles.roles.items() if name in used]

    def to_json(self) -> dict[str, Any]:
        """The proposal for programs."""
        return {
            "run": self.run.id,
            "goal": self.run.goal,
            "branch": self.run.branch,
            "sandbox": self.sandbox,
            "base": self.run.base,
            "tasks": [
                {
                    "id": task.id,
                    "subject": task.subject,
                    "blocked_by": list(task.blocked_by),
                    "checks": list(task.checks),
                    "require_plan": task.plan_required,
                }
                for task in self.tasks
            ],
            "members": [
                {
                    "name": member.name,
                    "role": member.role,
                    "model": member.model,
                    "launcher": member.launcher,
                    "reserved_task": member.reserved_task,
                    "require_plan": member.plan_required,
                }
                for member in self.members
            ],
            "roles": [_role_json(role) for role in self.described],
            "limits": {
                "max_workers": self.max_workers,
                **{scope: asdict(limits) for scope, limits in self.limits.items()},
            },
            "prices": {model: price and asdict(price) for model, price in self.prices.items()},
            "unseen_edits": list(self.unseen_edits),
        }


def _role_json(role: Role) -> dict[str, Any]:
    tools = None if role.tools is None else list(role.tools)
    return {"name": role.name, "description": role.description, "file": role.source} | {
        "tools": tools,
        "without": list(role.without),
    }


def render(proposal: Proposal) -> str:
    """The proposal for a person."""
    parts = [
        f"proposed team for: {proposal.run.goal}",
        _tasks(proposal),
        _members(proposal),
        _roles(proposal),
        _limits(proposal),
    ]
    return "\n\n".join(part for part in parts if part)


def _tasks(proposal: Proposal) -> str:
    places = {task.id: place for place, task in enumerate(proposal.tasks, start=1)}
    rows = []
    for place, task in enumerate(proposal.tasks, start=1):
        after = ", ".join(str(places.get(need, need)) for need in task.blocked_by)
        notes = [f"after {after}"] if after else []
        checks = dict.fromkeys((*proposal.every_task, *task.checks))
        notes.append(f"checks: {', '.join(checks)}" if checks else "no checks: ends unverified")
        notes += ["plan first"] if task.plan_required else []
        rows.append(f"  {place:>3}  {task.subject}  ({'; '.join(notes)})")
    return "\n".join(["tasks:", *rows])


def _members(proposal: Proposal) -> str:
    rows = []
    for member in proposal.members:
        notes = [member.role, member.model or "the lead's model", member.launcher]
        notes += ["plan first"] if member.plan_required else []
        rows.append(f"  {member.name:<12} {', '.join(notes)}")
    return "\n".join(["members:", *rows])


def _roles(proposal: Proposal) -> str:
    rows = [
        f"  {role.name:<12} {shorten(role.description, DESCRIPTION)} ({role.says_tools}; {role.source})"
        for role in proposal.described
    ]
    return "\n".join(["roles:", *rows]) if rows else ""


def _limits(proposal: Proposal) -> str:
    lines = [
        (
            f"work goes to branch {proposal.run.branch} of {proposal.repository}, "
            f"from commit {proposal.run.base[:12]}"
        ),
        f"at most {proposal.max_workers} members at a time; {proposal.sandbox}",
        "limits: " + ("; ".join(filter(None, starmap(_of_scope, proposal.limits.items()))) or "none"),
    ]
    if proposal.prices:
        prices = ", ".join(starmap(_priced, proposal.prices.items()))
        lines.append(f"USD per million tokens read and written: {prices}")
    if proposal.unseen_edits:
        shown, more = proposal.unseen_edits[:SHOWN], len(proposal.unseen_edits) - SHOWN
        files = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        lines.append(f"not seen by the team, because not committed: {files}")
    return "\n".join(lines)


def _of_scope(scope: str, limits: Limits) -> str:
    kept = [f"{value:,} {name}" for name, value in asdict(limits).items() if value is not None]
    return f"{scope} {', '.join(kept)}" if kept else ""


def _priced(model: str, price: Price | None) -> str:
    return f"{model} {price.input:g} and {price.output:g}" if price else f"{model} unknown"
