"""Pure: the rules of a policy, and the defaults of each tool over which they stand."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from coordination.errors import TeamError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHELL = "bash"
MCP = "mcp__"  # tools of MCP servers: `mcp__server__tool`
_RULE = re.compile(r"(?:([A-Za-z0-9_-]+):)?([A-Za-z0-9_*-]+)(?:\((.+)\))?", re.DOTALL)


class Verdict(StrEnum):
    """What happens to a call; where several rules fit, the first of these wins."""

    DENY = "deny"  # not run, whoever is asked
    ASK = "ask"  # a person decides
    ALLOW = "allow"


@dataclass(frozen=True)
class Default:
    """What holds for a tool of which no rule speaks."""

    verdict: Verdict
    subject: str = ""  # the argument that the pattern of a rule is compared with
    says: str = ""


# Working directory, plan and lease are other gates' business.
DEFAULTS: Mapping[str, Default] = {
    SHELL: Default(Verdict.ASK, "command", "unless it only reads in the working directory or is a check"),
    "read_file": Default(Verdict.ALLOW, "path", "files with credentials are asked about"),
    "grep": Default(Verdict.ALLOW, "path", "files with credentials are left out, or asked about if named"),
    "glob": Default(Verdict.ALLOW, "pattern"),
    "write_file": Default(Verdict.ALLOW, "path", "protected paths are denied, files with credentials asked"),
    "edit_file": Default(Verdict.ALLOW, "path", "likewise"),
    "send_message": Default(Verdict.ALLOW, "to"),
    "load_skill": Default(Verdict.ALLOW, "name", "skills of your home only if `skills.allow` names them"),
    "connect_mcp": Default(Verdict.ASK, "name", "it starts a program, or calls a machine elsewhere"),
    "task": Default(Verdict.ALLOW, "description", "the calls of the sub-agent are judged one by one"),
    "spawn_teammate": Default(Verdict.ALLOW, "name", "the first team of a run is confirmed by the person"),
    **{
        name: Default(Verdict.ALLOW)
        for name in (
            *("create_task", "update_task", "claim_task", "complete_task", "get_task", "list_tasks"),
            *("compact", "todo_write", "create_worktree"),
            *("list_teammates", "request_plan", "review_plan", "submit_plan", "request_shutdown"),
            *("list_background", "tail_background", "kill_background"),
            *("schedule_cron", "list_crons", "cancel_cron"),
        )
    },
}
OF_SERVERS = Default(Verdict.ASK, says="a server's own hints never allow anything")


def default_of(tool: str) -> Default:
    """What holds for the tool without a rule; one that no table knows is asked about."""
    return OF_SERVERS if tool.startswith(MCP) else DEFAULTS.get(tool, Default(Verdict.ASK))


@dataclass(eq=False)
class BadRule(TeamError):
    """A permission rule that says nothing."""

    rule: str
    says = (
        "{rule!r} is no permission rule; write the name of a tool, or of a tool with a pattern such as "
        "bash(git push *) or write_file(docs/*), with a role before it where wanted: reviewer:write_file"
    )


@dataclass(eq=False)
class UnknownTool(BadRule):
    """A rule names a tool that does not exist, so it would never hold."""

    tool: str
    near: str
    known: str
    says = "the rule {rule!r} names no tool: there is no {tool}{near}; the tools are {known}, and mcp__*"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A tool (or `*`) and a pattern for what it is called with; without a pattern every call."""

    verdict: Verdict
    tool: str
    pattern: str | None = None
    role: str | None = None  # whose calls it is about; None: everybody's

    def __str__(self) -> str:
        text = self.tool if self.pattern is None else f"{self.tool}({self.pattern})"
        return text if self.role is None else f"{self.role}:{text}"

    def is_about(self, tool: str, role: str) -> bool:
        """True when the rule speaks of this tool in the hands of this role."""
        return self.role in {None, role} and as_pattern(self.tool).fullmatch(tool) is not None


def parse_rule(verdict: Verdict, text: str) -> Rule:
    """The rule as written in the settings. Raises BadRule, UnknownTool."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise BadRule(rule=text)
    rule = Rule(verdict=verdict, role=match[1], tool=match[2], pattern=match[3])
    if not rule.tool.startswith(MCP) and not any(map(as_pattern(rule.tool).fullmatch, DEFAULTS)):
        close = difflib.get_close_matches(rule.tool, DEFAULTS, n=1)
        near = f" (did you mean {close[0]}?)" if close else ""
        raise UnknownTool(rule=text, tool=rule.tool, near=near, known=", ".join(sorted(DEFAULTS)))
    return rule


def parse_rules(*, allow: Iterable[str], ask: Iterable[str], deny: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of the settings, in the order in which they win. Raises BadRule, UnknownTool."""
    return (
        *(parse_rule(Verdict.DENY, text) for text in deny),
        *(parse_rule(Verdict.ASK, text) for text in ask),
        *(parse_rule(Verdict.ALLOW, text) for text in allow),
    )


@cache
def as_pattern(pattern: str) -> re.Pattern[str]:
    """`*` is any text; ` *` at the end also fits the command alone."""
    text = re.escape(pattern).replace(r"\*", ".*")
    return re.compile(re.sub(r"\\ \.\*$", r"(?: .*)?", text), re.DOTALL)


def defaults_table() -> str:
    """The defaults as rows of the page on permissions, in Markdown."""
    rows = []
    for name, default in {**DEFAULTS, f"{MCP}SERVER__TOOL": OF_SERVERS}.items():
        subject = f"`{default.subject}`" if default.subject else "-"
        rows.append(f"| `{name}` | {default.verdict} | {subject} | {default.says} |")
    head = ["| tool | without a rule | a pattern is compared with | |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def shadowed(rules: Iterable[Rule]) -> dict[Rule, Rule]:
    """The rules that never decide anything, each with a stronger one that speaks of all it speaks of."""
    found: dict[Rule, Rule] = {}
    before: list[Rule] = []
    for rule in rules:
        covering = next((other for other in before if _covers(other, rule)), None)
        if covering:
            found[rule] = covering
        before.append(rule)
    return found


def _covers(strong: Rule, weak: Rule) -> bool:
    same_calls = strong.pattern in {None, weak.pattern}
    return (
        strong.role in {None, weak.role} and same_calls and bool(as_pattern(strong.tool).fullmatch(weak.tool))
    )
