"""Pure: the programs that only read, and what makes each of them do more than that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.permissions.shell.inside import values

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


def names(text: str) -> frozenset[str]:
    """Names that are written one after the other."""
    return frozenset(text.split())


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
        names(
            "cat head tail wc nl tac rev cut paste join fold expand column cmp comm stat du df realpath"
            " readlink ls od hexdump strings md5sum sha1sum sha256sum sha512sum cksum base64 fmt tsort"
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        names(
            "echo true false : pwd basename dirname seq sleep which type whoami id uname nproc printenv tr"
            " expr command exit return break continue shift ps tty arch getconf locale"
        ),
        _NO_FILES,
    ),
    "printf": Reader(has_files=False, more=_more(r"-v.*")),
    "wait": Reader(has_files=False, more=_more(r"-.*p.*")),
    "date": Reader(has_files=False, more=_more(r"-[A-Za-z]*[sfr].*|--(?:s|f|ref).*")),
    "hostname": Reader(has_files=False, most=0, more=_more(r"-F.*|--file.*|-b")),
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
    "jq": Reader(leads=1, given=_more(r"-[A-Za-z]*f|--from-file"), more=_more(r"-[A-Za-z]*L.*|--library.*")),
}
VERSIONS = names("--version -V -v version")
TELL_VERSION = names("python python3 pip pip3 node npm cargo rustc go make java rg")

_ADDRESS = r"(?:\d+|\$|/[^/\n]*/)?(?:,(?:\+?\d+|\$|/[^/\n]*/))?"
_SED = re.compile(rf"\s*{_ADDRESS}\s*!?(?:[pdq=]|s([/|#,])(?:(?!\1)[^\n])*\1(?:(?!\1)[^\n])*\1[gpIi0-9]*)\s*")
_AWK = re.compile(r"\s*(?:NR\s*[=<>!]=?\s*\d+|/[^/\n]*/)?\s*(?:\{\s*print(?:\s+[\w$\", :.-]+)?\s*\})?\s*")


def sed_is_read(arguments: Sequence[str]) -> bool:
    """True for a script of which every command is known to read only."""
    options = [word for word in arguments if word.startswith("-")]
    plain = all(re.fullmatch(r"-[nErsuze]+|--quiet|--silent|--regexp-extended", option) for option in options)
    parts = [part for script in sed_scripts(arguments) for part in script.split(";") if part.strip()]
    return plain and bool(parts) and all(map(_SED.fullmatch, parts))


def sed_scripts(arguments: Sequence[str]) -> list[str]:
    """What it is told to do: behind `-e`, or the first word that is no option."""
    rest = [word for word in arguments if not word.startswith("-")]
    return values(arguments, ["-e", "--expression"]) or rest[:1]


def awk_is_read(arguments: Sequence[str]) -> bool:
    """True for a program that only prints fields of its lines."""
    rest = list(arguments)
    while rest and re.fullmatch(r"-F.+", rest[0]):
        rest.pop(0)
    return bool(rest) and not rest[0].startswith("-") and _AWK.fullmatch(rest[0]) is not None
