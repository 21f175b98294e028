"""Pure: what a plan says it will touch, as a part of its text, and what lies outside of that."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.permissions.rules import SHELL, as_pattern
from harness.permissions.shell.effects import acts, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.permissions.ruling import Ground

_BLOCK = re.compile(r"\n\n```scope\n(.*?)\n```\s*\Z", re.DOTALL)  # at the end, so that the digest covers it
WRITERS = frozenset({"write_file", "edit_file"})


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What may be changed under an approved plan."""

    paths: tuple[str, ...] = ()  # globs below the working directory
    commands: tuple[str, ...] = ()  # patterns as in permission rules, and names of other tools

    def objection(
        self, tool: str, arguments: Mapping[str, Any], ground: Ground, checks: Sequence[str] = ()
    ) -> str | None:
        """What of the call is outside the scope, in words; commands of checks never are."""
        if tool not in {SHELL, *WRITERS}:
            named = any(as_pattern(pattern).fullmatch(tool) for pattern in self.commands)
            return None if named else f"the tool {tool}"
        if tool != SHELL:
            return self._outside(ground.places(str(arguments.get("path", "."))))
        known = lines_of(checks)
        for act in acts(str(arguments.get("command", ""))):
            if act.line and any(as_pattern(pattern).fullmatch(act.line) for pattern in self.commands):
                continue
            places = [place for path in act.writes for place in ground.places(path)]
            if outside := self._outside(places):
                return outside
            if act.why and not places and act.line not in known:
                return f"the command {act.line or 'that only the shell can tell'}"
        return None

    def _outside(self, places: Sequence[str]) -> str | None:
        from wcmatch.glob import BRACE, DOTGLOB, FORCEUNIX, GLOBSTAR, globmatch  # noqa: PLC0415 - few plans name one

        flags = GLOBSTAR | BRACE | DOTGLOB | FORCEUNIX
        return next((place for place in places if not globmatch(place, self.paths, flags=flags)), None)


def with_scope(text: str, scope: Mapping[str, Any] | None) -> str:
    """The text of a plan with its scope at the end, for reviewer and gate alike."""
    text = _BLOCK.sub("", text)
    if not scope:
        return text
    named = {name: list(scope.get(name, ())) for name in ("paths", "commands")}
    return f"{text}\n\n```scope\n{json.dumps(named, indent=1, ensure_ascii=False)}\n```"


def scope_of(text: str) -> Scope | None:
    """The scope that the text of a plan ends with; None when it names none."""
    found = _BLOCK.search(text)
    if found is None:
        return None
    named = json.loads(found[1])
    return Scope(paths=tuple(named["paths"]), commands=tuple(named["commands"]))
