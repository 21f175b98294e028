"""Pure: a call in the form by which it is recognised again, and in that in which a person reads it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.permissions.rules import SHELL, default_of
from harness.permissions.shell.words import UNKNOWN, commands

if TYPE_CHECKING:
    from collections.abc import Mapping

PATHS = frozenset({"read_file", "write_file", "edit_file", "grep"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A call that needs a person."""

    tool: str
    why: str
    shown: str  # the exact command or change
    digest: str  # SHA-256 of the canonical action: equal for calls that an answer holds for alike
    is_fresh: bool = False  # no earlier yes holds for it


def question_of(tool: str, arguments: Mapping[str, Any], *, why: str, path: str = "") -> Question:
    """The call as a question; `path` is where its file really lies, as far as it is about one."""
    action = canonical(tool, arguments, path=path)
    digest = hashlib.sha256(action.encode("utf-8", "replace")).hexdigest()
    return Question(tool=tool, why=why, shown=shown(tool, arguments), digest=digest)


def canonical(tool: str, arguments: Mapping[str, Any], *, path: str = "") -> str:
    """Tool and parsed words, real path, or sorted arguments; layout and quoting make no difference."""
    subject = str(arguments.get(default_of(tool).subject, ""))
    if tool == SHELL:
        return json.dumps([tool, _parsed(subject)])
    if tool in PATHS:
        return json.dumps([tool, path or subject])
    return json.dumps([tool, dict(arguments)], sort_keys=True)


def _parsed(text: str) -> str | list[list[str]]:
    """The words of every command; a text that only the shell can read stands for itself."""
    found = [[*command.words, f">{command.writes_to}", command.stdin] for command in commands(text)]
    return text if any(UNKNOWN in word for words in found for word in words) else found


def shown(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a person has to see to decide: the whole command, the lines that go and come."""
    if tool == SHELL:
        return str(arguments.get("command", ""))
    if tool == "edit_file":
        old, new = (str(arguments.get(name, "")).splitlines() for name in ("old_text", "new_text"))
        lines = [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]
        return "\n".join([str(arguments.get("path", "")), *lines])
    if tool == "write_file":
        new = str(arguments.get("content", "")).splitlines()
        return "\n".join([str(arguments.get("path", "")), *(f"+ {line}" for line in new)])
    return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, indent=1)
