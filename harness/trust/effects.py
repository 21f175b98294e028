"""Pure: what the files of a repository would start, allow or say, in lines that a person reads."""

from __future__ import annotations

import difflib
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.hooks.configured import BadHook, hooks_of
from harness.hooks.events import Event
from harness.mcp.config_file import read_configuration
from harness.permissions.protected import GUIDES
from harness.roles.catalog import PLACES as ROLE_PLACES
from harness.settings.sources import DOTENV_FILE, SETTINGS_FILE
from harness.skills.skill import FILE as SKILL_FILE
from harness.trust.repository_files import INCLUDE_FILE, MCP_FILE, UNUSED, RepositoryFiles
from harness.yaml_text import YamlUnusable, load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_STARTS = {
    "checks": "runs as a check",
    "worktrees.setup": "runs in every fresh worktree",
    "hooks": "runs as a hook",
}
_SAYS = {
    DOTENV_FILE: "is tracked by git and sets credentials, addresses and rules",
    INCLUDE_FILE: "names ignored files that are copied into worktrees",
    **dict.fromkeys(GUIDES, "instructs every agent"),
}


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One thing that a file does."""

    file: str
    what: str
    text: str = ""  # the command, the value, the name

    def __str__(self) -> str:
        return f"{self.file} {self.what}{f': {self.text}' if self.text else ''}"


def effects(files: RepositoryFiles) -> list[Effect]:
    """All that they do, in the order of their names."""
    return [effect for name, text in files.texts.items() for effect in _effects(name, text)]


def difference(before: RepositoryFiles, now: RepositoryFiles) -> str:
    """What was changed, as a patch; empty if nothing was."""
    lines: list[str] = []
    for name in now.other_than(before):
        old, new = (files.texts.get(name, "").splitlines() for files in (before, now))
        lines += difflib.unified_diff(old, new, f"trusted/{name}", f"now/{name}", lineterm="", n=2)
    return "\n".join(lines)


def _effects(name: str, text: str) -> Iterator[Effect]:
    if name == SETTINGS_FILE:
        yield from _of_settings(text)
    elif name == MCP_FILE:
        yield from _of_servers(text)
    elif text.startswith(UNUSED):
        yield Effect(file=name, what="is not used", text=text.removeprefix(UNUSED))
    elif name.rpartition("/")[2] == SKILL_FILE:
        yield Effect(file=name, what="is a skill that agents can load and follow")
    elif name.startswith(ROLE_PLACES):
        yield Effect(file=name, what="says what members of a role are told, and with which tools they work")
    elif name in _SAYS:
        yield Effect(file=name, what=_SAYS[name])
    else:
        yield Effect(file=name, what="belongs to one of these, or is started by it")


def _of_settings(text: str) -> Iterator[Effect]:
    try:
        document = load_yaml(text)
    except YamlUnusable:
        document = None
    if not isinstance(document, dict):
        yield Effect(file=SETTINGS_FILE, what="cannot be read as settings, so no run will begin")
        return
    for name, value in _flat(document, ""):
        setting = next((of for of in _STARTS if name == of or name.startswith(f"{of}.")), None)
        what = f"sets {name}" if setting is None else f"{_STARTS[setting]} ({name})"
        for value_text in _texts(value, is_hook=setting == "hooks"):
            yield Effect(file=SETTINGS_FILE, what=what, text=value_text)


def _texts(value: object, *, is_hook: bool) -> Iterator[str]:
    """A value each; of hooks their commands, as far as they are written as such."""
    if is_hook:
        with suppress(BadHook):
            yield from (hook.command for hook in hooks_of({Event.STOP: value}))
            return
    for one in value if isinstance(value, list) else [value]:
        yield one if isinstance(one, str) else _written(one)


def _written(value: object) -> str:
    try:
        return json.dumps(value, default=str)
    except TypeError:  # a name that JSON does not know, such as a date
        return str(value)


def _flat(document: dict[object, object], above: str) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _of_servers(text: str) -> Iterator[Effect]:
    found = read_configuration(text.encode(), MCP_FILE)
    for note in found.errors:
        yield Effect(file=MCP_FILE, what="has a fault", text=note.text)
    for entry in found.entries:
        if (server := entry.server) is not None:
            what = f"lets agents {'start' if server.command else 'call'} the server {entry.name}"
            variables = [f"{variable}={value}" for variable, value in server.env.items()]
            text = " ".join([*variables, server.command, *server.args]) if server.command else server.url
            yield Effect(file=MCP_FILE, what=what, text=text)
