"""Pure: which other commands a command starts: behind a wrapper, as an option, as text for a shell."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.permissions.shell.words import Command

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_GIT_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"})

# Programs that run another one: the options that take a value, and the arguments before the command.
# Those of the first group change nothing of what it does.
_PLAIN: dict[str, tuple[str, int]] = {
    "timeout": ("-s --signal -k --kill-after", 1),
    "nice": ("-n --adjustment", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    **dict.fromkeys(("nohup", "time", "command", "builtin"), ("", 0)),
}
_WRAPPERS: dict[str, tuple[str, int]] = {
    **_PLAIN,
    "env": ("-u --unset -C --chdir", 0),
    "ionice": ("-c -n", 0),
    "xargs": ("-I -n -P -L -d -a -E -s", 0),
    "exec": ("-a", 0),
    "strace": ("-o -e -p -s -u", 0),
    "taskset": ("-c", 1),
    "flock": ("-w -E", 1),
    "chroot": ("", 1),
    **dict.fromkeys(("watch", "parallel"), ("-n -d -j", 0)),
    **dict.fromkeys(("setsid", "busybox", "unshare", "ssh-agent", "coproc"), ("", 0)),
}
_TEXTS: dict[str, str] = {  # the options whose value is a command
    "env": "-S --split-string",
    "flock": "-c --command",
    "script": "-c --command",
    "sort": "--compress-program",
    "tar": "-I -F --checkpoint-action --to-command --use-compress-program --rsh-command --info-script",
    "rsync": "-e --rsh --rsync-path",
    "git": "-x --exec --upload-pack --receive-pack --extcmd --tree-filter --index-filter --msg-filter",
}
_EDITORS = frozenset({"vi", "vim", "nvim", "ex", "view"})
_GIT_RUNS = re.compile(  # settings that name a program
    r"(?:alias|pager|filter|credential|core\.(?:ssh|pager|editor|fsm|ask|gitp)|sequence|gpg|uploadpack"
    r"|diff\.(?:external|.*\.(?:command|textconv))|(?:diff|merge)tool|.*\.(?:driver|cmd|helper|program))[^=]*=",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"exec=|[\w.-]+=!?|:?!")  # of a value, before its command
_AWK_RUNS = re.compile(r'system\s*\(\s*"([^"]*)"|\|&?\s*"([^"]*)"|"([^"]*)"\s*\|')


def each(words: Sequence[str]) -> Iterator[list[str]]:
    """The command and all that it starts by their words, from outside to inside."""
    left = [list(words)]
    while left:
        now = left.pop()
        if now:
            yield now
            left += reversed(list(_started(now)))


def is_plain(words: Sequence[str]) -> bool:
    """True for a wrapper that changes nothing of what the command behind it does."""
    return program(words[0]) in _PLAIN and bool(_behind(words))


def program(word: str) -> str:
    """The name of a program without its directory."""
    return word.rpartition("/")[2]


def _behind(words: Sequence[str]) -> list[str]:
    """The command that a wrapper runs; empty where this is none."""
    name = program(words[0])
    if name not in _WRAPPERS or (name == "command" and words[1:2] in (["-v"], ["-V"])):
        return []
    with_value, arguments = _WRAPPERS[name]
    rest = list(words[1:])
    while rest and ((rest[0].startswith("-") and len(rest[0]) > 1) or (name == "env" and "=" in rest[0])):
        option = rest.pop(0)
        if option == "--":
            break
        del rest[: option in with_value.split()]
    return rest[arguments:]


def _started(words: Sequence[str]) -> Iterator[list[str]]:
    name, rest = program(words[0]), words[1:]
    yield _behind(words)
    if name == "find":
        runs = [at for at, word in enumerate(rest) if word in FIND_RUNS]
        yield from (list(takewhile(lambda one: one not in {";", "+"}, rest[at + 1 :])) for at in runs)
    if name == "git" and git_words(words)[1:3] == ["bisect", "run"]:
        yield git_words(words)[3:]


def texts(command: Command, words: Sequence[str]) -> list[str]:
    """What the words of this command, or of one that it starts, give to a shell to run."""
    name, arguments = program(words[0]), words[1:]
    if name == "eval":
        return [" ".join(arguments)]
    if name in SHELLS:
        inline = script(words)
        said = [" ".join(one.words[1:]) for one in command.fed_by if one.words[:1] in (["echo"], ["printf"])]
        return [inline] if inline is not None else [command.stdin, *said]
    if name in {"awk", "gawk", "mawk"}:
        return ["".join(found) for word in arguments for found in _AWK_RUNS.findall(word)]
    found = values(arguments, _TEXTS.get(name, "").split())
    if name == "git":
        found += [value for value in values(arguments, ["-c"]) if _GIT_RUNS.match(value)]
        found += [" ".join(git_words(words)[3:])] if "foreach" in git_words(words)[2:3] else []
    if name in _EDITORS:
        found = [value for value in values(arguments, ["-c", "--cmd"]) if value.lstrip(":").startswith("!")]
    return [_PREFIX.sub("", text, count=1) for text in found]


def script(words: Sequence[str]) -> str | None:
    """The text that a shell is given with `-c`."""
    rest, is_inline = list(words[1:]), False
    while rest and rest[0][:1] in {"-", "+"}:
        option = rest.pop(0)
        is_inline = is_inline or re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", option) is not None
        del rest[: option in {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}]
    return rest[0] if is_inline and rest else None


def values(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """What these options are given: behind them, after a `=`, or at the letter itself."""
    found: list[str] = []
    for at, word in enumerate(arguments):
        for option in options:
            is_letter = re.fullmatch(r"-\w", option) is not None
            if word == option or (is_letter and re.fullmatch(rf"-\w*{option[1:]}", word)):
                found += arguments[at + 1 : at + 2]
            elif word.startswith(option if is_letter else f"{option}="):
                found.append(word.removeprefix(option).removeprefix("="))
    return found


def git_words(words: Sequence[str]) -> list[str]:
    """A command of git without what stands before its subcommand."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in _GIT_WITH_VALUE else 1]
    return ["git", *rest]
