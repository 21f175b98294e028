"""Pure: which calls are allowed, need a person, or are refused, by rules over built-in ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from posixpath import normpath
from typing import TYPE_CHECKING, Any

from coordination.errors import TeamError
from harness.shell_rules import destructive
from harness.shell_words import commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SHELL = "bash"
SUBJECTS = {  # the argument that the pattern of a rule is compared with
    SHELL: "command",
    "read_file": "path",
    "write_file": "path",
    "edit_file": "path",
    "grep": "path",
    "glob": "pattern",
    "send_message": "to",
    "spawn_teammate": "name",
}
_RULE = re.compile(r"([A-Za-z0-9_*-]+)(?:\((.+)\))?", re.DOTALL)


class Verdict(StrEnum):
    """What happens to a call; where several rules fit, the first of these wins."""

    DENY = "deny"  # not run, whoever is asked
    ASK = "ask"  # a person decides
    ALLOW = "allow"


# By the effect of a tool. Working directory, plan and lease are other gates' business.
BUILT_IN: Mapping[str, Verdict] = {"read": Verdict.ALLOW, "change": Verdict.ALLOW, "team": Verdict.ALLOW}


@dataclass(eq=False)
class BadRule(TeamError):
    """A permission rule that says nothing."""

    rule: str
    says = (
        "{rule!r} is no permission rule; write the name of a tool, or of a tool with a pattern "
        "such as bash(git push *) or write_file(docs/*)"
    )


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A tool (or `*`) and a pattern for what it is called with; without a pattern every call."""

    verdict: Verdict
    tool: str
    pattern: str | None = None

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """The verdict on one call and why."""

    verdict: Verdict
    reason: str  # destructive, rule, built_in
    text: str


def parse_rule(verdict: Verdict, text: str) -> Rule:
    """The rule as written in the settings. Raises BadRule."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise BadRule(rule=text)
    return Rule(verdict=verdict, tool=match[1], pattern=match[2])


def parse_rules(*, allow: Iterable[str], ask: Iterable[str], deny: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of the settings, in the order in which they win. Raises BadRule."""
    return (
        *(parse_rule(Verdict.DENY, text) for text in deny),
        *(parse_rule(Verdict.ASK, text) for text in ask),
        *(parse_rule(Verdict.ALLOW, text) for text in allow),
    )


def rule_on(
    rules: Sequence[Rule], tool: str, effect: str, arguments: Mapping[str, Any], *, cwd: str = ""
) -> Ruling:
    """The verdict on a call: destruction is denied before any rule; then deny, ask, allow, built-in."""
    subject = str(arguments.get(SUBJECTS.get(tool, ""), ""))
    harm = destructive(subject) if tool == SHELL else None
    if harm:
        return Ruling(verdict=Verdict.DENY, reason="destructive", text=f"this command {harm}")
    for verdict in Verdict:
        for rule in rules:
            if rule.verdict is verdict and _fits(rule, tool, subject, cwd):
                return Ruling(verdict=verdict, reason="rule", text=f"the rule {rule} says {verdict}")
    verdict = BUILT_IN.get(effect, Verdict.ASK)
    return Ruling(verdict=verdict, reason="built_in", text=f"tools with the effect {effect}: {verdict}")


def _fits(rule: Rule, tool: str, subject: str, cwd: str) -> bool:
    if not _glob(rule.tool).fullmatch(tool):
        return False
    if rule.pattern is None:
        return True
    pattern = _glob(rule.pattern)
    if tool != SHELL:
        return pattern.fullmatch(_plain_path(subject, cwd)) is not None
    lines = [" ".join(command.words) for command in commands(subject) if command.words]
    fits = [pattern.fullmatch(line) is not None for line in lines]
    # A chain is as bad as its worst part and only as good as all of them.
    return bool(fits) and (all(fits) if rule.verdict is Verdict.ALLOW else any(fits))


def _glob(pattern: str) -> re.Pattern[str]:
    """`*` is any text; ` *` at the end also fits the command alone."""
    text = re.escape(pattern).replace(r"\*", ".*")
    return re.compile(re.sub(r"\\ \.\*$", r"(?: .*)?", text), re.DOTALL)


def _plain_path(path: str, cwd: str) -> str:
    """The path as a rule names it: relative to the working directory, without detours."""
    return normpath(path.removeprefix(f"{cwd}/") if cwd else path)
