"""Pure: under which names the tools of servers are offered, and which cannot be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NAME_CHARACTERS = 64  # of a tool, by the Messages API
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, order=True)
class Origin:
    """A tool as its server knows it; what a permission is about."""

    server: str
    tool: str

    def __str__(self) -> str:
        return f"{self.server}/{self.tool}"


@dataclass(frozen=True, kw_only=True)
class Unnamed:
    """Tools that cannot be offered: `too_long`, `empty` or `collision`."""

    reason: str
    name: str
    sources: Sequence[Origin]

    def __str__(self) -> str:
        tools = " and ".join(map(str, self.sources))
        match self.reason:
            case "too_long":
                return (
                    f"{tools} is not offered: {self.name} has {len(self.name)} characters, "
                    f"{NAME_CHARACTERS} are allowed; give the server a shorter name"
                )
            case "empty":
                return f"{tools} is not offered: it has no name"
            case _:
                return f"{tools} are not offered: both would be called {self.name}; rename one server"


@dataclass(frozen=True, kw_only=True)
class Naming:
    """Every tool that is offered, by its name, and those that are not."""

    offered: Mapping[str, Origin]
    unnamed: Sequence[Unnamed]


def prefix_of(server: str) -> str:
    """What the names of all tools of the server begin with."""
    return f"mcp__{_plain(server)}__"


def name_of(origin: Origin) -> str:
    """What the tool is called, whether it can be offered or not."""
    return f"{prefix_of(origin.server)}{_plain(origin.tool)}"


def name_all(origins: Iterable[Origin]) -> Naming:
    """The names of all of these together; a name that two would have, none has."""
    by_name: dict[str, list[Origin]] = {}
    for origin in sorted(set(origins)):
        by_name.setdefault(name_of(origin), []).append(origin)
    offered: dict[str, Origin] = {}
    unnamed: list[Unnamed] = []
    for name, sources in by_name.items():
        reason = _reason(name, sources)
        if reason:
            unnamed.append(Unnamed(reason=reason, name=name, sources=sources))
        else:
            offered[name] = sources[0]
    return Naming(offered=offered, unnamed=unnamed)


def _reason(name: str, sources: Sequence[Origin]) -> str:
    if any(not source.tool.strip() or not source.server.strip() for source in sources):
        return "empty"
    if len(sources) > 1:
        return "collision"
    return "too_long" if len(name) > NAME_CHARACTERS else ""


def _plain(text: str) -> str:
    return _OTHER.sub("_", text)
