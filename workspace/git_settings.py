"""The settings and environment under which the host runs git, so that it runs nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from coordination.child import tool_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.editor": "false",
    "sequence.editor": "false",
    "core.pager": "cat",
    "core.quotePath": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",  # a collection beside a team contends for every lock
    "maintenance.auto": "false",
    "core.fsync": "committed",  # a task's record names the commit, and is durable itself
    "core.fsyncMethod": "batch",
    "diff.ignoreSubmodules": "dirty",  # else git asks the git of each submodule, under its settings
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "log.showSignature": "false",
    "advice.detachedHead": "false",
}
_ENVIRONMENT: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
# Beside what every child process gets: where the person's own settings of git are.
_PASSED = ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
# A custom merge driver gives way to git's own three-way merge, which conflicts where texts clash.
_TEXT_MERGE = "git merge-file --marker-size=%L %A %O %B"
_NEUTRAL: Mapping[tuple[str, str], str] = {
    ("filter", "clean"): "",
    ("filter", "smudge"): "",
    ("filter", "process"): "",
    ("filter", "required"): "false",
    ("merge", "driver"): _TEXT_MERGE,
    ("hook", "command"): "true",  # hooks by configuration, of a later git
}
_PERSONS_SCOPES = frozenset({"global", "system"})
_PERSONS_FILTER = ("filter", "lfs")  # large files would otherwise be checked out as pointers


def host_environment() -> dict[str, str]:
    """What git starts with: a list, so that no GIT_DIR or credential of the caller reaches it."""
    return tool_environment(_ENVIRONMENT, passed=_PASSED)


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings in the form that beats every file and, unlike `-c`, allows `=` in a key."""
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        numbered[f"GIT_CONFIG_KEY_{number}"] = key
        numbered[f"GIT_CONFIG_VALUE_{number}"] = value
    return numbered


def neutral(listing: str) -> dict[str, str]:
    """Settings that put out of action each program in `git config -z --show-scope` output.

    The person's own LFS filter is the one exception: it keeps the value of the person's
    configuration, whatever the repository's says.
    """
    fields = listing.split("\0")
    settings: dict[str, str] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        head, _, variable = key.rpartition(".")
        section, _, name = head.partition(".")
        if (section, variable) not in _NEUTRAL:
            continue
        if (section, name) == _PERSONS_FILTER and scope in _PERSONS_SCOPES:
            settings[key] = value
        else:
            settings.setdefault(key, _NEUTRAL[section, variable])
    return settings
