"""Pure: the verdict on one call, and what decided it."""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import normpath
from typing import TYPE_CHECKING, Any

from harness.permissions.rules import SHELL, Rule, Verdict, as_pattern, default_of
from harness.permissions.shell_harm import destructive
from harness.permissions.shell_words import commands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """The verdict on one call and why."""

    verdict: Verdict
    reason: str  # destructive, rule, built_in
    text: str
    rule: Rule | None = None  # the one that decided


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything that a process judges the calls of its model by."""

    rules: Sequence[Rule] = ()
    role: str = "teammate"  # whose calls they are


def judge(policy: Policy, tool: str, arguments: Mapping[str, Any], *, cwd: str = "") -> Ruling:
    """The verdict on a call: destruction is denied before any rule; then deny, ask, allow, default."""
    default = default_of(tool)
    subject = str(arguments.get(default.subject, ""))
    harm = destructive(subject) if tool == SHELL else None
    if harm:
        return Ruling(verdict=Verdict.DENY, reason="destructive", text=f"this command {harm}")
    rules = [rule for rule in policy.rules if rule.is_about(tool, policy.role)]
    for verdict in Verdict:
        for rule in rules:
            if rule.verdict is verdict and _fits(rule, tool, subject, cwd):
                text = f"the rule {rule} says {verdict}"
                return Ruling(verdict=verdict, reason="rule", text=text, rule=rule)
    says = f" ({default.says})" if default.says else ""
    text = f"without a rule the verdict on {tool} is {default.verdict}{says}"
    return Ruling(verdict=default.verdict, reason="built_in", text=text)


def _fits(rule: Rule, tool: str, subject: str, cwd: str) -> bool:
    if rule.pattern is None:
        return True
    pattern = as_pattern(rule.pattern)
    if tool != SHELL:
        return pattern.fullmatch(_plain_path(subject, cwd)) is not None
    lines = [" ".join(command.words) for command in commands(subject) if command.words]
    fits = [pattern.fullmatch(line) is not None for line in lines]
    # A chain is as bad as its worst part and only as good as all of them.
    return bool(fits) and (all(fits) if rule.verdict is Verdict.ALLOW else any(fits))


def _plain_path(path: str, cwd: str) -> str:
    """The path as a rule names it: relative to the working directory, without detours."""
    return normpath(path.removeprefix(f"{cwd}/") if cwd else path)
