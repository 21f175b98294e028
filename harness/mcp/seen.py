"""How each tool described itself at first; what it says later counts only with a person's word."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from coordination import layout
from harness.mcp.listing import Listed
from harness.skills.skill import tokens_of

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.files import StateDirectory
    from harness.mcp.names import Origin


class Seen(Protocol):
    """Remembers the definitions of tools."""

    def accepted(self, name: str, origin: Origin, tool: Listed) -> Listed:
        """The definition that counts: that of the first time, unless a person accepted a later one."""
        ...


class SeenByNobody:
    """For a look at servers without a team: everything is as it is."""

    def accepted(self, name: str, origin: Origin, tool: Listed) -> Listed:  # noqa: ARG002 - the protocol
        return tool


@dataclass(frozen=True)
class SeenByTeam:
    """One file for each tool under the team root; the first process to see a tool writes it."""

    directory: StateDirectory

    def accepted(self, name: str, origin: Origin, tool: Listed) -> Listed:
        path = layout.seen_tool(name)
        if not self.directory.exists(path):
            self.directory.make(layout.SEEN_TOOLS)
            self.directory.publish(path, _document(origin, tool))  # of two, the first one's counts
        known = json.loads(self.directory.read_patiently(path))
        if known["origin"] != str(origin):
            return Listed(name=tool.name, description="", input_schema={}, output_schema=None)
        return Listed(name=tool.name, **known["definition"])

    def accept(self, name: str, origin: Origin, tool: Listed) -> None:
        """What the tool says now is what counts from here on; a person said so."""
        self.directory.make(layout.SEEN_TOOLS)
        self.directory.replace(layout.seen_tool(name), _document(origin, tool), durable=True)


def _document(origin: Origin, tool: Listed) -> bytes:
    document = {"format": 1, "origin": str(origin), "definition": tool.to_json()}
    return (
        json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    )


def seen_tokens(root: Path) -> dict[str, int]:
    """About how many tokens the tools of each server take in a request, as far as they were seen."""
    found: Counter[str] = Counter()
    for path in sorted((root / layout.SEEN_TOOLS).glob("*.json")):
        with suppress(
            OSError, ValueError, KeyError, TypeError, AttributeError
        ):  # a bad file is nobody's tool
            document = json.loads(path.read_bytes())
            definition = {"name": path.stem, **document["definition"]}
            definition.pop("output_schema", None)  # no model is told
            found[document["origin"].partition("/")[0]] += tokens_of(json.dumps(definition))
    return dict(found)


def changes(before: Listed, now: Listed) -> str:
    """What differs, as a person reads it; empty if nothing does."""
    old, new = (_lines(tool.to_json()) for tool in (before, now))
    return "\n".join(difflib.unified_diff(old, new, "accepted", "now", lineterm="", n=1))


def _lines(definition: dict[str, Any]) -> list[str]:
    return json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False).split("\n")
