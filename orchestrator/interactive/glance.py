"""The status line of a session: who does what, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestrator.inspection.status import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST, LEAST = 60, 6  # characters for what one member does
HERE = frozenset({"starting", "alive", "closing"})


def glance(facts: Mapping[str, Any], *, columns: int) -> str:
    """One line from the facts of `at_work`, what the lead does itself, and the calls that run."""
    tasks, members = facts["tasks"], [member for member in facts["members"] if member["state"] in HERE]
    parts = [f"lead {_with_calls(facts['lead'], facts['calls'].get('lead'))}"]
    if facts["questions"]:
        parts.append(counted(len(facts["questions"]), "open question"))
    if facts["paused"]:
        parts.append("paused")
    if tasks:
        done = sum(task["status"] == "completed" for task in tasks)
        parts.append(f"{done}/{len(tasks)} tasks done")
    doing = {member["name"]: "".join(filter(str.isprintable, _doing(member, facts))) for member in members}
    for most in range(MOST, LEAST, -1):
        line = " | ".join([*parts, *(f"{name}: {_cut(what, most)}" for name, what in doing.items())])
        if len(line) < columns:
            return line
    return _cut(line, columns - 1)


def _doing(member: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    if member["waiting_on"]:
        return f"waits for {member['waiting_on']}"
    subject = next((task["subject"] for task in facts["tasks"] if task["id"] == member["task"]), None)
    if subject is None:
        return "idle" if member["state"] == "alive" else str(member["state"])
    return _with_calls(subject, facts["calls"].get(member["name"]))


def _with_calls(doing: str, calls: list[str] | None) -> str:
    return f"{doing} ({', '.join(calls)})" if calls else doing


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
