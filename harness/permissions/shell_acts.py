"""Pure: what the words of one command show of what it does."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from harness.permissions.shell_programs import (
    READERS,
    TELL_VERSION,
    VERSIONS,
    Reader,
    awk_is_read,
    git_is_read,
    sed_is_read,
)
from harness.permissions.shell_words import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOME = "~"  # a path below the home directory begins with it
SYSTEM_PROGRAMS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"})
NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"})
HARMLESS = re.compile(r"LC_\w+|LANG|TZ|TERM|COLUMNS|LINES|NO_COLOR|CLICOLOR|[a-z_]\w*")  # as variables
CHANGERS = frozenset(
    {
        *(
            "rm",
            "rmdir",
            "unlink",
            "touch",
            "mkdir",
            "chmod",
            "chown",
            "chgrp",
            "truncate",
            "shred",
            "tee",
            "mv",
        ),
        *("patch", "sed", "find", "ed", "mkfifo", "mknod"),
    }
)
INTO_LAST = frozenset({"cp", "ln", "install", "rsync", "scp"})
NETWORK = frozenset(
    {
        *("curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "rsync", "ftp", "telnet"),
        *(
            "docker",
            "podman",
            "gh",
            "glab",
            "aws",
            "gcloud",
            "az",
            "kubectl",
            "twine",
            "dig",
            "nslookup",
            "ping",
        ),
    }
)
_LOOKED_THROUGH = {"timeout": 1, "nice": 0, "nohup": 0, "time": 0, "command": 0, "builtin": 0, "stdbuf": 0}
_WITH_VALUE = {"timeout": {"-s", "-k", "--signal", "--kill-after"}, "nice": {"-n", "--adjustment"}}
_GIT_QUIET = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_GIT_REMOTE = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "submodule", "remote", "archive"})
_GIT_CHANGES = frozenset({"checkout", "restore", "rm", "mv", "clean", "apply", "stash", "reset", "config"})


@dataclass(frozen=True, kw_only=True)
class Act:
    """What one command does, as far as its words show; paths as the shell would see them from outside."""

    line: str = ""  # the words as a rule is compared with
    why: str = ""  # why it is more than reading files; empty: it is not
    always: str = ""  # why it needs a word of its own, whatever a broad rule allows
    reads: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()  # directories of which it may read every file
    writes: tuple[str, ...] = ()
    sends: bool = False  # it talks to another machine
    is_local: bool = False  # it is known not to, though it may change files


def of_write(path: str) -> list[Act]:
    """What a redirection to this path does."""
    if path in NOWHERE:
        return []
    return [with_paths(Act(line=f"> {path}", why=f"writes {shown(path)}", is_local=True), writes=[path])]


def of_words(words: Sequence[str]) -> Act:
    """What a command with these words does."""
    name = _program(words[0])
    if not name or UNKNOWN in words[0]:
        return Act(why=f"runs {shown(words[0])}, of which nobody here knows what it does")
    if name in _LOOKED_THROUGH and len(words) > 1:
        return _of_wrapped(name, words)
    return _of_program(name, words[1:])


def _of_program(name: str, arguments: Sequence[str]) -> Act:
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    if name in READERS:
        return _of_reader(name, READERS[name], arguments)
    if name in TELL_VERSION and len(arguments) == 1 and arguments[0] in VERSIONS:
        return Act()
    return _of_other(name, arguments)


def _of_wrapped(name: str, words: Sequence[str]) -> Act:
    rest = list(words[1:])
    if name == "command" and rest[0] in {"-v", "-V"}:
        return Act()
    while rest and rest[0].startswith("-"):
        rest = rest[2 if rest[0] in _WITH_VALUE.get(name, ()) else 1 :]
    rest = rest[_LOOKED_THROUGH[name] :]
    return of_words(rest) if rest else Act(why=f"{name} runs nothing that can be read")


def _of_reader(name: str, reader: Reader, arguments: Sequence[str]) -> Act:
    options = [word for word in arguments if len(word) > 1 and word.startswith("-")]
    odd = next((word for word in options if reader.more.fullmatch(word)), None)
    if odd:
        return with_paths(Act(why=f"{name} {shown(odd)} does more than read"), writes=_files(arguments, 0))
    leads = 0 if any(map(reader.given.fullmatch, options)) else reader.leads
    files = _files(arguments, leads)
    if len(files) > reader.most:
        return with_paths(Act(why=f"{name} writes {shown(files[-1])}"), writes=files)
    if not reader.has_files:
        return Act()
    is_tree = any(map(reader.recursive.fullmatch, options)) or reader.recursive.pattern == ".*"
    named = [*files, *_in_options(options)]
    return with_paths(Act(), trees=named or ["."]) if is_tree else with_paths(Act(), reads=named)


def _of_find(arguments: Sequence[str]) -> Act:
    starts = list(takewhile(lambda word: word[:1] not in {"-", "(", "!"}, arguments)) or ["."]
    odd = next((word for word in arguments if READERS["find"].more.fullmatch(word)), None)
    if odd is None:
        return with_paths(Act(), reads=starts)
    return with_paths(Act(why=f"find {odd} does more than read"), writes=starts)


def _of_git(arguments: Sequence[str]) -> Act:
    rest, trees = list(arguments), ["."]
    while rest and (rest[0] in _GIT_QUIET or (rest[0] == "-C" and len(rest) > 1)):
        if rest[0] == "-C":
            trees = [rest.pop(1)]
        rest.pop(0)
    subcommand, after = (rest[0], rest[1:]) if rest else ("", [])
    if subcommand in TELL_VERSION | VERSIONS | {"", "help"}:
        return Act(reads=tuple(trees))
    paths = [part for word in after if not word.startswith("-") for part in word.split(":")]
    if git_is_read(subcommand, after):
        return with_paths(Act(), reads=[*trees, *paths, *_in_options(after)])
    act = Act(why=f"git {shown(subcommand)} changes something", always=_git_always(subcommand, after))
    act = replace(act, sends=subcommand in _GIT_REMOTE, is_local=subcommand not in _GIT_REMOTE)
    return with_paths(act, writes=paths if subcommand in _GIT_CHANGES else (), reads=trees)


def _git_always(subcommand: str, arguments: Sequence[str]) -> str:
    if subcommand == "push":
        return "git push sends work out"
    deletes = any(re.fullmatch(r"-[a-zA-Z]*[dD][a-zA-Z]*|--delete", word) for word in arguments)
    return "deletes a branch" if deletes and subcommand in {"branch", "update-ref"} else ""


def _of_cd(arguments: Sequence[str]) -> Act:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        return Act(why="cd leads where only the shell knows")
    return with_paths(Act(), reads=arguments)


def _of_sed(arguments: Sequence[str]) -> Act:
    files = _files(arguments, 1)
    if sed_is_read(arguments):
        return with_paths(Act(), reads=files)
    return with_paths(Act(why="sed may write or run something with this script"), writes=files)


def _of_awk(arguments: Sequence[str]) -> Act:
    if awk_is_read(arguments):
        return with_paths(Act(), reads=_files(arguments, 1))
    return Act(why="awk may write or run something with this program")


def _of_declaration(arguments: Sequence[str]) -> Act:
    names = [word.partition("=")[0] for word in arguments if not word.startswith("-")]
    odd = [name for name in names if not HARMLESS.fullmatch(name)]
    return Act(why=f"sets {', '.join(map(shown, odd))} for all that follows") if odd else Act()


_SPECIAL: dict[str, Callable[[Sequence[str]], Act]] = {
    "git": _of_git,
    "find": _of_find,
    "cd": _of_cd,
    "sed": _of_sed,
    **dict.fromkeys(("awk", "gawk", "mawk"), _of_awk),
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), _of_declaration),
}


def _of_other(name: str, arguments: Sequence[str]) -> Act:
    files = _files(arguments, 0)
    is_local = name in (CHANGERS | INTO_LAST) - NETWORK - {"patch", "sed", "find", "ed"}
    act = Act(why=f"{name} may change something", sends=name in NETWORK, is_local=is_local)
    if name in CHANGERS:
        return with_paths(act, writes=files)
    if name in INTO_LAST:
        into = [word.partition("=")[2] for word in arguments if word.startswith("--target-directory=")]
        return with_paths(act, writes=[*into, *files[-1:]], reads=files[:-1])
    if name == "dd":
        return with_paths(act, writes=[word[3:] for word in arguments if word.startswith("of=")])
    return with_paths(act, reads=[word.lstrip("@") for word in files])


def _program(word: str) -> str:
    """The name of a program that the system brought; empty for one that lies elsewhere."""
    directory, _, name = word.rpartition("/")
    return name if not directory or directory in SYSTEM_PROGRAMS else ""


def _files(arguments: Sequence[str], leads: int) -> list[str]:
    """The arguments that may name files, without the leading ones that do not."""
    plain: list[str] = []
    for place, word in enumerate(arguments):
        if word == "--":
            plain += arguments[place + 1 :]
            break
        if word == "-" or not word.startswith("-"):
            plain.append(word)
    return [word for word in plain[leads:] if word != "-"]


def _in_options(options: Sequence[str]) -> list[str]:
    """What options name that may be a path: `--file=x/y`, `-fx/y`."""
    values = [_value(option) for option in options if option.startswith("-")]
    return [value for value in values if "/" in value or value.startswith((".", HOME))]


def _value(option: str) -> str:
    name, found, value = option.partition("=")
    return value if found and name.startswith("--") else option[2:]


def with_paths(
    act: Act, *, reads: Sequence[str] = (), trees: Sequence[str] = (), writes: Sequence[str] = ()
) -> Act:
    """The act with these paths; one that only the shell can tell is a reason to ask."""
    unknown = [
        path for path in (*reads, *trees, *writes) if UNKNOWN in path or re.search(r"\{.*[,.].*\}", path)
    ]
    if unknown and not act.why:
        act = replace(act, why="names a file that only the shell can tell")
    known = [[path for path in paths if path not in unknown] for paths in (reads, trees, writes)]
    return replace(act, reads=tuple(known[0]), trees=tuple(known[1]), writes=tuple(known[2]))


def shown(word: str) -> str:
    """The word for a person."""
    return word.replace(UNKNOWN, "…")
