"""The hooks of a configuration, as a person writes them down: event, matcher, command."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coordination.errors import TeamError
from harness.hooks.events import OF_TOOLS, Event, known_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TIMEOUT_SECONDS = 60.0  # as in Claude Code
_HOOK_FIELDS = {"type", "command", "python", "timeout", "sandboxed"}


@dataclass(eq=False)
class BadHook(TeamError):
    """A hook that would never be asked, or cannot be started."""

    where: str
    why: str
    says = "{where}: {why}"


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One command or callable that is asked at one kind of point."""

    event: Event
    command: str  # a shell command, or `FILE:FUNCTION` of a callable
    is_python: bool = False
    matcher: str = ""  # regular expression over the name of a tool; empty: every one
    timeout_seconds: float = TIMEOUT_SECONDS
    sandboxed: bool = False  # it runs where commands of the agent run; those of a repository always do

    def __str__(self) -> str:
        return f"{self.event} hook {self.command!r}"

    def is_about(self, tool: str) -> bool:
        """True when its matcher fits the tool under its own name or the one that scripts know."""
        if self.matcher in {"", "*"} or self.event not in OF_TOOLS:
            return True
        return any(re.fullmatch(self.matcher, name) for name in (tool, known_name(tool)))


def hooks_of(raw: object) -> tuple[Hook, ...]:
    """The hooks in their order. Raises BadHook for the first that cannot be used."""
    if not isinstance(raw, dict):
        raise BadHook(where="hooks", why="must be a mapping of events to lists")
    return tuple(hook for name, groups in raw.items() for hook in _of_event(str(name), groups))


def in_sandbox(hooks: object) -> object:
    """The hooks, each of which runs in the sandbox: those that a repository brings along."""
    assert isinstance(hooks, tuple)
    return tuple(replace(hook, sandboxed=True) for hook in hooks)


def to_raw(hooks: Sequence[Hook]) -> dict[str, Any]:
    """The hooks as a configuration would have them, each in a group of its own."""
    raw: dict[str, Any] = {}
    for hook in hooks:
        kind = "python" if hook.is_python else "command"
        one = {"type": kind, kind: hook.command, "timeout": hook.timeout_seconds}
        one |= {"sandboxed": True} if hook.sandboxed else {}
        raw.setdefault(str(hook.event), []).append({"matcher": hook.matcher, "hooks": [one]})
    return raw


def _of_event(name: str, groups: object) -> Iterator[Hook]:
    if name not in set(Event):
        raise BadHook(where=f"hooks.{name}", why=f"is no event; there are {', '.join(Event)}")
    if not isinstance(groups, list):
        raise BadHook(where=f"hooks.{name}", why="must be a list of {matcher, hooks}")
    for place, group in enumerate(groups):
        yield from _of_group(Event(name), group, f"hooks.{name}[{place}]")


def _of_group(event: Event, group: object, where: str) -> Iterator[Hook]:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        raise BadHook(where=where, why="must be a mapping with a list `hooks`, and `matcher` where wanted")
    if unknown := sorted(set(group) - {"matcher", "hooks"}):
        raise BadHook(where=where, why=f"does not know {', '.join(map(str, unknown))}")
    matcher = str(group.get("matcher") or "")
    try:
        re.compile("" if matcher == "*" else matcher)
    except re.error as error:
        raise BadHook(where=where, why=f"its matcher is no regular expression: {error}") from error
    for raw in group["hooks"]:
        yield _hook(event, matcher, raw, where)


def _hook(event: Event, matcher: str, raw: object, where: str) -> Hook:
    if not isinstance(raw, dict):
        raise BadHook(
            where=where, why="a hook must be a mapping such as {type: command, command: ./check.sh}"
        )
    if unknown := sorted(set(raw) - _HOOK_FIELDS):
        raise BadHook(where=where, why=f"a hook does not know {', '.join(map(str, unknown))}")
    kind = raw.get("type", "command")
    command = raw.get(kind) if kind in {"command", "python"} else None
    if not isinstance(command, str) or not command.strip():
        raise BadHook(where=where, why="a hook needs `type: command` and its `command`, or `type: python`")
    if kind == "python" and not re.fullmatch(r".+\.py:\w+", command):
        raise BadHook(where=where, why="python must name a file and a function in it: checks/guard.py:check")
    return Hook(
        event=event,
        command=command,
        is_python=kind == "python",
        matcher=matcher,
        timeout_seconds=_timeout(raw, where),
        sandboxed=_sandboxed(raw, where),
    )


def _sandboxed(raw: Mapping[str, Any], where: str) -> bool:
    wanted = raw.get("sandboxed", False)
    if not isinstance(wanted, bool):
        raise BadHook(where=where, why="sandboxed must be true or false")
    return wanted


def _timeout(raw: Mapping[str, Any], where: str) -> float:
    seconds = raw.get("timeout", TIMEOUT_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 3600:
        raise BadHook(where=where, why="timeout must be a number of seconds up to 3600")
    return float(seconds)
