"""What a command line would destroy, whatever wrapper, chain or quotation it hides in."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from posixpath import normpath
from typing import TYPE_CHECKING

from harness.permissions.shell_words import UNKNOWN, Command, commands

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIVILEGE = frozenset({"sudo", "su", "doas", "pkexec", "runuser"})
HOST = frozenset({"shutdown", "reboot", "halt", "poweroff"})
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
FETCHERS = frozenset({"curl", "wget", "fetch", "nc", "ncat"})
SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "sbin", "srv", "sys", "usr"}
    | {"var", "Applications", "Library", "System", "Users"}
)
DEVICES = frozenset({"null", "stdout", "stderr", "stdin", "tty", "zero", "full", "random", "urandom", "fd"})
FORK_BOMB = re.compile(r"(?<![^\s(){};&|])([^\s(){};&|]++)\s*+\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}")
_GIT_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_DEPTH = 8  # of shells inside shells

# Programs that run another one: the options that take a value, and the arguments before the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (frozenset({"-u", "--unset", "-C", "--chdir"}), 0),
    "timeout": (frozenset({"-s", "--signal", "-k", "--kill-after"}), 1),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "xargs": (frozenset({"-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"}), 0),
    "exec": (frozenset({"-a"}), 0),
    **{
        name: (frozenset[str](), 0)
        for name in ("nohup", "setsid", "time", "command", "builtin", "stdbuf", "busybox")
    },
}


def destructive(text: str, depth: int = 0) -> str | None:
    """What the first harmful command of the text would do, in words; None when none is known to harm."""
    if FORK_BOMB.search(_without_quotes(text)):
        return "exhausts the host"
    here = ""
    for command in commands(text):
        words = _unwrapped(command.words)
        found = _harm(words, command, here, depth)
        if found:
            return found
        if words[:1] == ["cd"]:
            here = words[1] if len(words) > 1 else "~"
    return None


def _without_quotes(text: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", text)


def _unwrapped(words: Sequence[str]) -> list[str]:
    """The command that really runs, its program without a directory."""
    rest = list(words)
    while rest:
        rest[0] = rest[0].rpartition("/")[2]
        if rest[0] not in _WRAPPERS:
            break
        rest = _behind(rest, *_WRAPPERS[rest[0]])
    return rest


def _behind(words: list[str], with_value: frozenset[str], arguments: int) -> list[str]:
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in with_value else 1
        elif words[0] == "env" and "=" in word:
            at += 1
        else:
            break
    return words[at + arguments :]


def _harm(words: list[str], command: Command, here: str, depth: int) -> str | None:
    if _is_raw_device(command.writes_to):
        return "writes to a raw device"
    if not words:
        return None
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
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        if rest.pop(0) in _GIT_WITH_VALUE and rest:
            rest.pop(0)
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
    texts = _texts_that_run(words, command)
    return next((found for text in texts if (found := destructive(text, depth + 1))), None)


def _runs_text(words: list[str]) -> bool:
    return words[0] in SHELLS | {"eval", "source", "."}


def _texts_that_run(words: list[str], command: Command) -> list[str]:
    name, arguments = words[0], words[1:]
    if name == "eval":
        return [" ".join(arguments)]
    if name in SHELLS:
        inline = [text for flag, text in pairwise(arguments) if _is_inline(flag)]
        return [*inline, command.stdin]
    if name == "git":
        return [text.partition("=!")[2] for text in arguments if text.startswith("alias.")]
    if name == "find":
        return [shlex.join(arguments[at + 1 :]) for at, word in enumerate(arguments) if word in _FIND_RUNS]
    return []


_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _is_inline(flag: str) -> bool:
    return re.fullmatch(r"-[a-z]*c", flag) is not None


def _is_fed_by_stranger(words: list[str], command: Command) -> bool:
    unknown = any(UNKNOWN in word for word in words[1:3])
    return any(map(_is_stranger, command.fed_by)) or (unknown and any(map(_is_stranger, command.inner)))


def _is_stranger(command: Command) -> bool:
    words = _unwrapped(command.words)
    name, arguments = (words[0], words[1:]) if words else ("", [])
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
