"""Reads the file of a role: front matter as Claude Code's agent files have it, and the text below."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coordination import layout
from harness.hooks.events import NAMES
from harness.permissions.rules import DEFAULTS
from harness.roles.role import CONNECT, SERVERS, TEAM_TOOLS, Role, RoleReading
from harness.skills.fields import text_of
from harness.skills.frontmatter import Problem, Severity, parse
from harness.skills.reading import bytes_below

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.skills.frontmatter import Value

TAKEN = frozenset({"lead", "agent", "person", "teammate", "any", "summary"})  # words of the team itself
INHERIT = "inherit"  # the model of the other teammates, in Claude Code's words
FAMILIES = frozenset({"sonnet", "opus", "haiku"})  # of models, which no server knows by these names
_OURS = {theirs: ours for ours, theirs in NAMES.items()} | {
    "MultiEdit": "edit_file",
    "LS": "glob",
    "BashOutput": "tail_background",
    "KillShell": "kill_background",
}
_TOOL = re.compile(r"[^\s,()]+(?:\([^)]*\))?")


@dataclass(frozen=True, kw_only=True)
class _Tools:
    """Names of one field, in our words, and what is wrong with them."""

    names: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_role(path: Path, *, repository: Path, models: Mapping[str, str]) -> RoleReading:
    """The role of the file; whatever is wrong is told, and nothing raised.

    `models` says for the names that files use how the server calls them.
    """
    found = RoleReading(name=path.stem, path=path.relative_to(repository).as_posix())
    is_ours = path.parent.resolve().is_relative_to(repository.resolve())  # the directory may be a link too
    data = bytes_below(path, path.parent if is_ours else repository)
    if isinstance(data, str):
        return replace(found, problems=(_error("unreadable", data),))
    document = parse(data)
    if any(problem.severity is Severity.ERROR for problem in document.problems):
        return replace(found, problems=document.problems)
    fields = document.fields
    found = replace(found, name=text_of(fields, "name") or path.stem)
    tools, without = _tools(fields, "tools"), _tools(fields, "disallowedTools")
    model, about_model = _model(text_of(fields, "model"), models)
    problems = (
        *document.problems,
        *_about_names(fields, found.name),
        *(problem for of in (tools, without) if of for problem in of.problems),
        *_about_tools(tools),
        *about_model,
    )
    if any(problem.severity is Severity.ERROR for problem in problems):
        return replace(found, problems=problems)
    role = Role(
        name=found.name,
        description=text_of(fields, "description"),
        prompt=document.body.strip(),
        source=found.path,
        digest=hashlib.sha256(data).hexdigest(),
        tools=tools.names if tools else None,
        without=without.names if without else (),
        model=model,
    )
    return replace(found, role=role, problems=problems)


def _about_names(fields: Mapping[str, Value], name: str) -> list[Problem]:
    problems = []
    if not layout.MEMBER_NAME.fullmatch(name):
        problems.append(_error("name-invalid", f"{name!r} is no name; use 1 to 64 letters, digits, - and _"))
    if name.lower() in TAKEN:
        problems.append(_error("name-reserved", f"the name {name} is reserved; choose another"))
    if not text_of(fields, "description"):
        text = "there is no description; say what the role is good at and when to choose it"
        problems.append(_error("description-missing", text))
    return problems


def _tools(fields: Mapping[str, Value], field: str) -> _Tools | None:
    """None where the field is missing. A name of Claude Code's stands for our tool of that kind."""
    if field not in fields:
        return None
    value = fields[field]
    listed = value if isinstance(value, list) else _TOOL.findall(value) if isinstance(value, str) else []
    words = [word.strip() for word in listed if isinstance(word, str)]
    names: list[str] = []
    problems: list[Problem] = []
    for word in words:
        name = _OURS.get(word, word)
        if "(" in word:
            text = (
                f"{word} has a pattern, which {field} cannot keep to; name the tool alone, and write "
                "a permission rule for the role"
            )
            problems.append(_error("tool-pattern", text))
        elif name in DEFAULTS or name.startswith(SERVERS) or name == CONNECT:
            names.append(name)
        else:
            text = f"{field} names {word}, and there is no such tool here"
            problems.append(Problem(code="tool-unknown", text=text))
    return _Tools(names=tuple(dict.fromkeys(names)), problems=tuple(problems))


def _about_tools(tools: _Tools | None) -> Sequence[Problem]:
    if (
        tools is None
        or set(tools.names) - TEAM_TOOLS
        or any(p.code == "tool-pattern" for p in tools.problems)
    ):
        return ()
    return (_error("tools-empty", "tools names none that there is; leave the field out for all of them"),)


def _model(word: str, models: Mapping[str, str]) -> tuple[str | None, Sequence[Problem]]:
    if word in {"", INHERIT}:
        return None, ()
    if word in models:
        return models[word], ()
    if word.lower() not in FAMILIES:
        return word, ()
    text = f"which model {word} is, `roles.models` does not say; members get that of the other teammates"
    return None, (Problem(code="model-unknown", text=text),)


def _error(code: str, text: str) -> Problem:
    return Problem(code=code, text=text, severity=Severity.ERROR)
