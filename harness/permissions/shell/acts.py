"""Pure: what the words of one command show of what it does."""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile
from posixpath import basename
from typing import TYPE_CHECKING

from harness.permissions.shell.act import Act, in_options, shown, with_paths
from harness.permissions.shell.git import of_git
from harness.permissions.shell.inside import FIND_RUNS, values
from harness.permissions.shell.programs import (
    READERS,
    TELL_VERSION,
    VERSIONS,
    Reader,
    awk_is_read,
    names,
    sed_is_read,
    sed_scripts,
)
from harness.permissions.shell.words import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SYSTEM_PROGRAMS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"})
HARMLESS = re.compile(r"LC_\w+|LANG|TZ|TERM|COLUMNS|LINES|NO_COLOR|CLICOLOR|[a-z]\w*|_")  # as variables
_CHANGERS = names(  # what they name they change
    "rm rmdir unlink touch mkdir chmod chown chgrp truncate shred tee mv sed find ed mkfifo mknod"
    " gzip gunzip bzip2 xz zip nano vi vim nvim ex emacs patch"
)
_INTO_LAST = frozenset({"cp", "mv", "ln", "install", "rsync", "scp", "split"})
_TREE_BY_OPTION = {"rm": r"-\w*[rR]\w*|--recursive", "cp": r"-\w*[rRa]\w*|--(?:recursive|archive)"}
_LOCAL = names(
    "rm rmdir unlink touch mkdir chmod chown chgrp truncate shred tee mv mkfifo mknod cp ln install"
)
_NETWORK = names(
    "curl wget nc ncat netcat socat ssh scp sftp rsync ftp telnet docker podman gh glab aws gcloud az kubectl"
    " twine dig nslookup ping"
)
_OUTPUTS = ("-o", "-out", "--out", "--outfile", "--output", "--output-document", "--output-dir", "-C")
_DIRECTORIES = ("--directory", "--directory-prefix", "--target-directory", "--prefix")
_OWN_OUTPUTS = {
    **dict.fromkeys(("cp", "mv", "ln", "install"), ("-t",)),
    "unzip": ("-d",),
    "wget": ("-O", "-P"),
    "csplit": ("-f",),
    "find": ("-fprint", "-fprint0", "-fprintf", "-fls"),
}
_UNPACKS = {  # the argument with which they write files that their words do not name
    "tar": r"-?[A-Za-z]*x[A-Za-z]*|--(?:extract|get)",
    "cpio": r"-\w*i\w*|--extract",
    "ar": r"-?\w*x\w*",
    **dict.fromkeys(("unzip", "patch", "bsdtar", "7z"), r".*"),
}
_FIND_MORE = re.compile(r"-(?:delete|fprint|fls|files0|ok).*")
_COUNTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


def of_words(words: Sequence[str]) -> Act:
    """What a command with these words does, but for the commands that it starts."""
    directory, _, name = words[0].rpartition("/")
    if not name or UNKNOWN in words[0] or (directory and directory not in SYSTEM_PROGRAMS):
        return Act(why=f"runs {shown(words[0])}, of which nobody here knows what it does")
    arguments = words[1:]
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    if name in READERS:
        return _of_reader(name, READERS[name], arguments)
    if name in TELL_VERSION and len(arguments) == 1 and arguments[0] in VERSIONS:
        return Act()
    return _of_other(name, arguments)


def _of_reader(name: str, reader: Reader, arguments: Sequence[str]) -> Act:
    options = [word for word in arguments if len(word) > 1 and word.startswith("-")]
    odd = next((word for word in options if reader.more.fullmatch(word)), None)
    if odd:
        return with_paths(
            Act(why=f"{name} {shown(odd)} does more than read"),
            writes=[*_files(arguments, 0), *values(arguments, _OUTPUTS)],
        )
    leads = 0 if any(map(reader.given.fullmatch, options)) else reader.leads
    files = _files(arguments, leads)
    if len(files) > reader.most:
        return with_paths(Act(why=f"{name} writes {shown(files[-1])}"), writes=files)
    if not reader.has_files:
        return Act()
    is_tree = any(map(reader.recursive.fullmatch, options)) or reader.recursive.pattern == ".*"
    named = [*files, *in_options(options)]
    return with_paths(Act(), trees=named or ["."]) if is_tree else with_paths(Act(), reads=named)


def _of_find(arguments: Sequence[str]) -> Act:
    rest = dropwhile(lambda word: re.fullmatch(r"-[HLP]|-O\d?", word), arguments)
    starts = list(takewhile(lambda word: word[:1] not in {"-", "(", "!"}, rest)) or ["."]
    odd = next((word for word in arguments if _FIND_MORE.fullmatch(word)), None)
    return with_paths(
        Act(why=f"find {odd} does more than read" if odd else ""),
        reads=starts,
        trees=starts if FIND_RUNS & set(arguments) else (),
        writes=[*values(arguments, _OWN_OUTPUTS["find"]), *(starts if odd else ())],
        carries=starts if "-delete" in arguments else (),
    )


def _of_cd(arguments: Sequence[str]) -> Act:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        return Act(why="cd leads where only the shell knows")
    return with_paths(Act(), reads=arguments)


def _of_sed(arguments: Sequence[str]) -> Act:
    scripts = sed_scripts(arguments)
    files = [word for word in _files(arguments, 0) if word not in scripts]
    if sed_is_read(arguments):
        return with_paths(Act(), reads=files)
    named = [name.strip() for word in arguments for name in re.findall(r"[wW]\s+([^;\n}]+)", word)]
    act = Act(why="sed may write or run something with this script")
    return with_paths(act, reads=files, writes=[*files, *named])


def _of_awk(arguments: Sequence[str]) -> Act:
    if awk_is_read(arguments):
        return with_paths(Act(), reads=_files(arguments, 1))
    named = [name for word in arguments for name in re.findall(r'>\s*"([^"]+)"', word)]
    return with_paths(Act(why="awk may write or run something with this program"), writes=named)


def _of_env(arguments: Sequence[str]) -> Act:
    before = list(takewhile(lambda word: "=" in word or word.startswith("-"), arguments))
    odd = [
        word for word in before if word not in {"-i", "-0"} and not HARMLESS.fullmatch(word.partition("=")[0])
    ]
    return Act(why=f"env {shown(odd[0])} changes what programs do") if odd else Act()


def _of_date(arguments: Sequence[str]) -> Act:
    before = ["", *arguments]
    sets = any(
        re.fullmatch(r"\d{8,12}(\.\d\d)?", word) and before[at] not in {"-d", "--date"}
        for at, word in enumerate(arguments)
    )
    return Act(why="date sets the clock") if sets else _of_reader("date", READERS["date"], arguments)


def _of_declaration(arguments: Sequence[str]) -> Act:
    names = [word.partition("=")[0] for word in arguments if not re.fullmatch(r"-[xrgpaAfs]+", word)]
    odd = [name for name in names if not HARMLESS.fullmatch(name)]
    return Act(why=f"sets {', '.join(map(shown, odd))} for all that follows") if odd else Act()


def _of_condition(arguments: Sequence[str], *, counts: bool) -> Act:
    """What some operators are given is a name, or is counted: the shell then runs the `$(…)` in it."""
    for before, word, after in zip(["", *arguments], arguments, [*arguments[1:], "]"], strict=False):
        is_operand = re.match(r"-\w+$|[]!=<>]", after)
        names = word in {"-v", "-R"} or (not counts and word == UNKNOWN and not is_operand)
        numbers = all(re.fullmatch(r"-?\d+", number) for number in (before, after))
        if (names and not re.fullmatch(r"\w+", after)) or (counts and word in _COUNTS and not numbers):
            return Act(why=f"{shown(word)} may run what stands in {shown(after)}")
    return Act()


_SPECIAL: dict[str, Callable[[Sequence[str]], Act]] = {
    "git": of_git,
    "find": _of_find,
    "cd": _of_cd,
    "sed": _of_sed,
    "env": _of_env,
    "date": _of_date,
    "[[": lambda arguments: _of_condition(arguments, counts=True),
    **dict.fromkeys(("[", "test"), lambda arguments: _of_condition(arguments, counts=False)),
    **dict.fromkeys(("awk", "gawk", "mawk"), _of_awk),
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset", "read"), _of_declaration),
}


def _of_other(name: str, arguments: Sequence[str]) -> Act:
    unpacks = name in _UNPACKS and any(re.fullmatch(_UNPACKS[name], word) for word in arguments)
    act = Act(
        why=f"{name} may change something",
        always="it writes files that only the archive or patch names" if unpacks else "",
        sends=name in _NETWORK,
        is_local=name in _LOCAL,
    )
    files = _files(arguments, 0)
    into = values(arguments, [*_OUTPUTS, *_DIRECTORIES, *_OWN_OUTPUTS.get(name, ())])
    if name == "tar" and not unpacks:
        into += values(arguments, ["-f", "--file"]) or files[1:2]
    if name == "dd":
        return with_paths(act, reads=_parts(arguments, "if="), writes=_parts(arguments, "of="))
    reads = [word.rpartition("@")[2] for word in [*files, *in_options(arguments)]]
    return with_paths(
        act,
        reads=() if name in _LOCAL - {"mv", "cp", "ln", "install"} else reads,
        writes=[*into, *_changed(name, arguments, files, into)],
        carries=files if _is_of_trees(name, arguments) else (),
    )


def _parts(arguments: Sequence[str], before: str) -> list[str]:
    return [word.removeprefix(before) for word in arguments if word.startswith(before)]


def _changed(name: str, arguments: Sequence[str], files: list[str], into: list[str]) -> list[str]:
    """The files that a program changes without an option that says so."""
    in_place = name in {"perl", "ruby"} and any(re.fullmatch(r"-\w*i.*", word) for word in arguments)
    is_hard_link = name == "ln" and not any(re.fullmatch(r"-\w*s\w*|--symbolic", word) for word in arguments)
    last = files[-1:] if name in _INTO_LAST and not into else []
    named = [f"{place}/{basename(file)}" for place in [*into, *last] for file in files if name in _INTO_LAST]
    return [*(files if name in _CHANGERS or in_place or is_hard_link else last), *named]


def _is_of_trees(name: str, arguments: Sequence[str]) -> bool:
    by_option = name in _TREE_BY_OPTION and any(
        re.fullmatch(_TREE_BY_OPTION[name], word) for word in arguments
    )
    return by_option or name in {"mv", "rsync"}


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
