"""Pure: the verdict on one call, and what decided it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.permissions.judge_shell import judge_command, needs_word_for_guides
from harness.permissions.protected import is_secret
from harness.permissions.rules import SHELL, Verdict, default_of
from harness.permissions.ruling import Ground, Policy, Ruling, asked, by_rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WRITERS = frozenset({"write_file", "edit_file"})
READERS = frozenset({"read_file", "grep"})


def judge(policy: Policy, tool: str, arguments: Mapping[str, Any], ground: Ground | None = None) -> Ruling:
    """The verdict on a call: what is denied or asked about by nature, then deny, ask, allow, default."""
    ground = ground or Ground()
    default = default_of(tool)
    subject = str(arguments.get(default.subject, ""))
    if tool == SHELL:
        return judge_command(policy, subject, ground)
    if tool in WRITERS | READERS:
        return _of_file(policy, tool, ground.places(subject or "."), ground)
    return _by_rules(policy, tool, [subject]) or _by_default(tool)


def _of_file(policy: Policy, tool: str, places: Sequence[str], ground: Ground) -> Ruling:
    if tool in WRITERS and any(map(ground.is_protected, places)):
        text = f"{places[0]} belongs to git, the team or its policy, which only people write"
        return Ruling(verdict=Verdict.DENY, reason="protected", text=text)
    tools = (tool, "read_file") if tool in READERS else (tool,)
    for verdict in (Verdict.DENY, Verdict.ASK):
        for name in tools:  # a search reads, so what may not be read may not be searched
            if rule := policy.decides(verdict, name, places):
                return by_rule(rule)
    if any(map(is_secret, places)) and not policy.decides(Verdict.ALLOW, tool, places, named=True):
        return asked("secret", f"{places[0]} looks like a file with credentials")
    if tool in WRITERS and (told := needs_word_for_guides(policy, places, ground)):
        return told
    return _by_rules(policy, tool, places) or _by_default(tool)


def _by_rules(policy: Policy, tool: str, subjects: Sequence[str]) -> Ruling | None:
    for verdict in Verdict:
        if rule := policy.decides(verdict, tool, subjects):
            return by_rule(rule)
    return None


def _by_default(tool: str) -> Ruling:
    default = default_of(tool)
    says = f" ({default.says})" if default.says else ""
    text = f"without a rule the verdict on {tool} is {default.verdict}{says}"
    return Ruling(verdict=default.verdict, reason="built_in", text=text)
