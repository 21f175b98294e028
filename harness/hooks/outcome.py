"""Pure: what a hook said, from its exit code and its output."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from harness.hooks.events import GUARDING, Event

if TYPE_CHECKING:
    from collections.abc import Mapping

BLOCKS = 2  # exit code; its stderr is the reason


class Says(StrEnum):
    """What a hook wants."""

    PASS = "pass"  # noqa: S105 - no password
    BLOCK = "block"
    ASK = "ask"  # a person decides
    FAIL = "fail"  # it crashed, hung or said what nobody understands


@dataclass(frozen=True)
class Outcome:
    """What one hook said, or all of them together."""

    says: Says = Says.PASS
    reason: str = ""
    context: str = ""  # for the model
    updated: Mapping[str, Any] | None = None  # what the call shall be made with, in the words of scripts


def outcome_of(event: Event, status: int | None, out: str, err: str) -> Outcome:
    """What a command meant that ended with this status (None: it did not end in time)."""
    if status is None:
        return _failed(event, "did not end in time")
    if status == BLOCKS:
        return Outcome(Says.BLOCK, err.strip() or out.strip() or "it gave no reason")
    if status != 0:
        return _failed(event, f"ended with status {status}: {err.strip()[-500:]}")
    return _from_text(event, out.strip())


def _from_text(event: Event, text: str) -> Outcome:
    if not text.startswith("{"):
        return Outcome(context=text if event is Event.USER_PROMPT_SUBMIT else "")
    try:
        said = json.loads(text)
    except ValueError as error:
        return _failed(event, f"printed broken JSON: {error}")
    return _from_json(event, said)


def _failed(event: Event, why: str) -> Outcome:
    return Outcome(Says.FAIL if event in GUARDING else Says.PASS, why)


def _from_json(event: Event, said: dict[str, Any]) -> Outcome:
    own = said.get("hookSpecificOutput")
    own = own if isinstance(own, dict) else {}
    reason = _text(own.get("permissionDecisionReason")) or _text(said.get("reason"))
    reason = reason or _text(said.get("systemMessage"))
    context = _text(own.get("additionalContext"))
    decision = own.get("permissionDecision") or said.get("decision")
    if said.get("continue") is False:
        decision, reason = "deny", _text(said.get("stopReason")) or reason
    updated = own.get("updatedInput") if event is Event.PRE_TOOL_USE else None
    if updated is not None and not isinstance(updated, dict):
        return _failed(event, "printed an updatedInput that is no object")
    if not isinstance(decision, str | None) or decision not in _DECISIONS:
        return _failed(event, f"printed a decision that nobody knows: {decision!r}")
    says = _DECISIONS[decision]
    return Outcome(says, "" if says is Says.PASS else reason or "it gave no reason", context, updated)


_DECISIONS: dict[str | None, Says] = {
    **dict.fromkeys(("deny", "block"), Says.BLOCK),
    "ask": Says.ASK,
    **dict.fromkeys((None, "allow", "approve", "defer"), Says.PASS),  # no hook loosens anything
}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
