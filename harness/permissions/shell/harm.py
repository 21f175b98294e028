"""What a command line would destroy, whatever wrapper, chain or quotation it hides in."""

from __future__ import annotations

import re
from posixpath import normpath
from typing import TYPE_CHECKING

from harness.permissions.shell.inside import SHELLS, each, git_words, program, texts
from harness.permissions.shell.words import UNKNOWN, Command, commands

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIVILEGE = frozenset({"sudo", "su", "doas", "pkexec", "runuser"})
HOST = frozenset({"shutdown", "reboot", "halt", "poweroff"})
FETCHERS = frozenset({"curl", "wget", "fetch", "nc", "ncat"})
SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "sbin", "srv", "sys", "usr"}
    | {"var", "Applications", "Library", "System", "Users"}
)
DEVICES = frozenset({"null", "stdout", "stderr", "stdin", "tty", "zero", "full", "random", "urandom", "fd"})
FORK_BOMB = re.compile(r"(?<![^\s(){};&|])([^\s(){};&|]++)\s*+\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}")
_DEPTH = 8  # of shells inside shells


def destructive(text: str, depth: int = 0) -> str | None:
    """What the first harmful command of the text would do, in words; None when none is known to harm."""
    if FORK_BOMB.search(_without_quotes(text)):
        return "exhausts the host"
    here = ""
    for command in commands(text):
        for words in each(command.words):
            if found := _harm([program(words[0]), *words[1:]], command, here, depth):
                return found
        if _is_raw_device(command.writes_to):
            return "writes to a raw device"
        if command.words[:1] == ["cd"]:
            here = command.words[1] if len(command.words) > 1 else "~"
    return None


def _without_quotes(text: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", text)


def _harm(words: list[str], command: Command, here: str, depth: int) -> str | None:
    by_itself = _harm_by_name(words) or _harm_to_stash(words) or _harm_by_target(words, here)
    return by_itself or _harm_inside(words, command, depth)


def _harm_by_name(words: list[str]) -> str | None:
    name, arguments = words[0], words[1:]
    if name in PRIVILEGE:
        return "changes privilege"
    if name in HOST or (name == "systemctl" and HOST.intersection(arguments)):
        return "stops the host"
    if name in {"init", "telinit"} and arguments[:1] in (["0"], ["6"]):
        return "stops the host"
    return _harm_to_others(name, arguments)


def _harm_to_others(name: str, arguments: Sequence[str]) -> str | None:
    if name == "leadhand" and {"approve", "deny", "approvals", "trust", "run", "resume"} & set(arguments):
        return "decides in the person's place"
    if name == "mkfs" or name.startswith(("mkfs.", "mke2fs")):
        return "makes a file system"
    return None


def _harm_to_stash(words: list[str]) -> str | None:
    """All worktrees of a repository share one stash, so a `pop` takes what another put there."""
    if words[0] != "git":
        return None
    rest = git_words(words)[1:]
    if rest[:1] != ["stash"] or rest[1:2] in (["list"], ["show"]):
        return None
    return "touches the stash, which all worktrees share; commit in your own tree instead"


def _harm_by_target(words: list[str], here: str) -> str | None:
    name, arguments = words[0], words[1:]
    if _writes_raw(name, arguments):
        return "writes to a raw device"
    if not any(_is_vital(argument, here) for argument in arguments):
        return None
    deletes = "-delete" in arguments if name == "find" else _has_flag(arguments, "rR", "--recursive")
    if name in {"rm", "find"} and deletes:
        return "deletes a root, system or home directory"
    if name in {"chmod", "chown", "chgrp"} and _has_flag(arguments, "R", "--recursive"):
        return "changes the modes of a root, system or home directory"
    return None


def _writes_raw(name: str, arguments: Sequence[str]) -> bool:
    if name == "dd":
        return any(_is_raw_device(word[3:]) for word in arguments if word.startswith("of="))
    return name in {"shred", "wipefs", "blkdiscard", "tee"} and any(map(_is_raw_device, arguments))


def _harm_inside(words: list[str], command: Command, depth: int) -> str | None:
    if depth >= _DEPTH:
        return None
    if _runs_text(words) and _is_fed_by_stranger(words, command):
        return "feeds downloaded or decoded text to a shell"
    inside = texts(command, words)
    return next((found for text in inside if (found := destructive(text, depth + 1))), None)


def _runs_text(words: list[str]) -> bool:
    return words[0] in SHELLS | {"eval", "source", "."}


def _is_fed_by_stranger(words: list[str], command: Command) -> bool:
    unknown = any(UNKNOWN in word for word in words[1:3])
    return any(map(_is_stranger, command.fed_by)) or (unknown and any(map(_is_stranger, command.inner)))


def _is_stranger(command: Command) -> bool:
    *_, words = [""], *each(command.words)
    name, arguments = program(words[0]), words[1:]
    if name == "base64":
        return _has_flag(arguments, "dD", "--decode")
    return name in FETCHERS or (name == "xxd" and _has_flag(arguments, "r", "-revert"))


def _has_flag(arguments: Sequence[str], letters: str, long: str) -> bool:
    return any(
        word == long or (word.startswith("-") and not word.startswith("--") and set(letters) & set(word))
        for word in arguments
    )


def _is_raw_device(path: str) -> bool:
    parts = [part for part in path.split("/") if part]
    return path.startswith("/dev/") and len(parts) > 1 and parts[1] not in DEVICES | {"shm", "pts"}


def _is_vital(path: str, here: str) -> bool:
    """True for the root, a system directory, a home, or everything in one of them."""
    if path.startswith("-") or UNKNOWN in path:
        return False
    first, *rest = path.split("/")
    below = _resolved(rest)
    if first == "$HOME" or first.startswith("~"):
        return not below
    if path.startswith("/"):
        alone = len(below) == 1 and below[0] in SYSTEM
        return not below or alone or (len(below) == 2 and below[0] in {"home", "Users"})
    return bool(here) and not _resolved([first, *rest]) and _is_vital(here, "")


def _resolved(parts: Sequence[str]) -> list[str]:
    """The parts that lead somewhere, without a glob for everything at the end."""
    out = normpath("/" + "/".join(parts)).strip("/").split("/")
    while out and out[-1] in {"", "*", ".*", "**", "{*,.*}"}:
        out.pop()
    return out
