"""Pure: the programs that only read, and what makes each of them do more than that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ANYTHING = re.compile(r"(?!)")  # no option makes it do more


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A program that reads the files it is given and nothing else, unless one of these fits an argument."""

    more: re.Pattern[str] = ANYTHING  # an option with which it writes, or runs something
    recursive: re.Pattern[str] = ANYTHING  # an option with which it reads whole directories
    leads: int = 0  # arguments before the files, such as a pattern
    has_files: bool = True  # False: its arguments name no file that it opens
    most: int = 1000  # arguments beside options; one more would be written to
    given: re.Pattern[str] = field(default=ANYTHING)  # an option that takes the place of the leading ones


def _more(text: str) -> re.Pattern[str]:
    return re.compile(text)


_PLAIN = Reader()
_NO_FILES = Reader(has_files=False)
_GREP = Reader(
    recursive=_more(r"-[A-Za-z]*[rRd].*|--(?:r|de|di).*"),
    leads=1,
    given=_more(r"-[A-Za-z]*[ef].*|--(?:reg|f).*"),
)
READERS: dict[str, Reader] = {
    **dict.fromkeys(
        (
            *("cat", "head", "tail", "wc", "nl", "tac", "rev", "cut", "paste", "join", "fold", "expand"),
            *("column", "cmp", "comm", "stat", "du", "df", "realpath", "readlink", "ls", "od", "hexdump"),
            *("strings", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "base64", "fmt", "tsort"),
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            *("echo", "printf", "true", "false", ":", "test", "[", "[[", "pwd", "basename", "dirname"),
            *("seq", "sleep", "which", "type", "whoami", "id", "uname", "nproc", "printenv", "tr", "expr"),
            *(
                "exit",
                "return",
                "break",
                "continue",
                "shift",
                "wait",
                "ps",
                "tty",
                "arch",
                "getconf",
                "locale",
            ),
        ),
        _NO_FILES,
    ),
    "date": Reader(has_files=False, more=_more(r"-[A-Za-z]*[sfr].*|--(?:s|f|ref).*")),
    "hostname": Reader(has_files=False, most=0, more=_more(r"-F.*|--file.*|-b")),
    "env": Reader(has_files=False, most=0, more=_more(r"-.*")),
    "find": Reader(more=_more(r"-(?:exec|ok|delete|fprint|fls|files0).*")),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    "rg": Reader(
        leads=1,
        given=_more(r"-[A-Za-z]*[ef].*|--(?:regexp|file|files)\b.*"),
        more=_more(r"--pre.*|--hostname-bin.*|-[A-Za-z]*z.*|--search-zip"),
        recursive=re.compile(r".*"),
    ),
    "sort": Reader(more=_more(r"-[A-Za-z]*[To].*|--(?:o|co|tem|fi).*")),
    "uniq": Reader(most=1),
    "xxd": Reader(most=1, more=_more(r"-[a-z]*r.*")),
    "tree": Reader(more=_more(r"-[A-Za-z]*[oR].*|--from.*")),
    "diff": Reader(recursive=_more(r"-[A-Za-z]*r.*|--rec.*"), more=_more(r"-[A-Za-z]*l.*|--pag.*")),
    "file": Reader(more=_more(r"-[A-Za-z]*[Cf].*|--(?:c|files).*")),
    "jq": Reader(leads=1, more=_more(r"-[A-Za-z]*L.*|--library.*")),
}
VERSIONS = frozenset({"--version", "-V", "-v", "version"})
TELL_VERSION = frozenset(
    {"python", "python3", "pip", "pip3", "node", "npm", "cargo", "rustc", "go", "make", "git", "java", "rg"}
)
_GIT_MORE = re.compile(
    r"--output.*|-o.*|--ext-diff|--textconv|-O.*|--open-files-in-pager.*|--exec.*|--filter.*"
)
_GIT_READS = frozenset(
    {
        *(
            "status",
            "log",
            "diff",
            "show",
            "blame",
            "annotate",
            "ls-files",
            "ls-tree",
            "rev-parse",
            "rev-list",
        ),
        *("describe", "shortlog", "name-rev", "merge-base", "for-each-ref", "show-ref", "count-objects"),
        *(
            "check-ignore",
            "diff-tree",
            "diff-index",
            "diff-files",
            "range-diff",
            "cherry",
            "whatchanged",
            "grep",
        ),
    }
)
_GIT_LISTS = {  # subcommands that only read with nothing but these arguments
    "branch": re.compile(
        r"-a|-r|-v+|--all|--remotes|--verbose|--list|--show-current|--(?:no-)?merged|--sort=.*"
    ),
    "tag": re.compile(r"-l|--list|-n\d*|--sort=.*"),
    "remote": re.compile(r"-v|--verbose"),
    "stash": re.compile(r"list"),
    "worktree": re.compile(r"list|--porcelain"),
    "reflog": re.compile(r"show|HEAD|-n|\d+|-\d+"),
    "config": re.compile(r"--get|--list|-l|--get-all|[a-z]+\.[\w.]+"),
}


def git_is_read(subcommand: str, arguments: Sequence[str]) -> bool:
    """True when this use of git changes nothing and runs no program that its arguments name."""
    if subcommand == "config" and not {"--get", "--list", "-l", "--get-all"} & set(arguments):
        return False
    if subcommand == "stash" and not arguments:
        return False
    if subcommand in _GIT_LISTS:
        return all(map(_GIT_LISTS[subcommand].fullmatch, arguments))
    return subcommand in _GIT_READS and not any(map(_GIT_MORE.fullmatch, arguments))


_ADDRESS = r"(?:\d+|\$|/[^/\n]*/)?(?:,(?:\+?\d+|\$|/[^/\n]*/))?"
_SED = re.compile(rf"\s*{_ADDRESS}\s*!?(?:[pdq=]|s([/|#,])(?:(?!\1)[^\n])*\1(?:(?!\1)[^\n])*\1[gpIi0-9]*)\s*")
_AWK = re.compile(r"\s*(?:NR\s*[=<>!]=?\s*\d+|/[^/\n]*/)?\s*(?:\{\s*print(?:\s+[\w$\", :.-]+)?\s*\})?\s*")


def sed_is_read(arguments: Sequence[str]) -> bool:
    """True for a script of which every command is known to read only."""
    options = [word for word in arguments if word.startswith("-")]
    rest = [word for word in arguments if not word.startswith("-")]
    plain = all(re.fullmatch(r"-[nErsuz]+|--quiet|--silent|--regexp-extended", option) for option in options)
    return plain and bool(rest) and all(_SED.fullmatch(part) for part in rest[0].split(";") if part.strip())


def awk_is_read(arguments: Sequence[str]) -> bool:
    """True for a program that only prints fields of its lines."""
    rest = list(arguments)
    while rest and re.fullmatch(r"-F.+", rest[0]):
        rest.pop(0)
    return bool(rest) and not rest[0].startswith("-") and _AWK.fullmatch(rest[0]) is not None
