"""The status line of a session: who does what, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestrator.inspection.status import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH = 200


def glance(facts: Mapping[str, Any], lead: str) -> str:
    """One line from the facts of `at_work`, and what the lead itself does."""
    tasks = facts["tasks"]
    done = sum(task["status"] == "completed" for task in tasks)
    parts = [f"lead {lead}", *(_member(member, tasks) for member in facts["members"] if _is_here(member))]
    if tasks:
        parts.append(f"{done}/{len(tasks)} tasks done")
    if facts["questions"]:
        parts.append(counted(len(facts["questions"]), "open question"))
    if facts["paused"]:
        parts.append("paused")
    return " | ".join(parts)[:WIDTH]


def _is_here(member: Mapping[str, Any]) -> bool:
    return member["state"] in {"starting", "alive", "closing"}


def _member(member: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> str:
    subject = next((task["subject"] for task in tasks if task["id"] == member["task"]), None)
    doing = f"waits for {member['waiting_on']}" if member["waiting_on"] else subject
    if doing is None:
        doing = "idle" if member["state"] == "alive" else member["state"]
    return f"{member['name']}: {''.join(letter for letter in doing if letter.isprintable())[:40]}"
