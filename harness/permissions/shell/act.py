"""Pure: the record of what one command does, as far as its words show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.permissions.shell.words import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = "~"  # a path below the home directory begins with it
SOCKETS = ("/dev/tcp/", "/dev/udp/")  # a shell makes a connection of them
NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"})


@dataclass(frozen=True, kw_only=True)
class Act:
    """What one command does, as far as its words show; paths as the shell would see them from outside."""

    line: str = ""  # the words as a rule is compared with
    also: tuple[str, ...] = ()  # the same without wrappers and directories, for rules that say no or ask
    why: str = ""  # why it is more than reading files; empty: it is not
    always: str = ""  # why it needs a word of its own, whatever a broad rule allows
    reads: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()  # directories of which it may read every file
    writes: tuple[str, ...] = ()
    carries: tuple[str, ...] = ()  # of which it copies, moves or removes every file
    at: tuple[str, ...] = ()  # where git looks for its repository
    sends: bool = False  # it talks to another machine
    is_local: bool = False  # it is known not to, though it may change files


def of_write(path: str) -> list[Act]:
    """What a redirection to this path does."""
    if path in NOWHERE:
        return []
    sends = path.startswith(SOCKETS)
    act = Act(line=f"> {path}", why=f"writes {shown(path)}", sends=sends, is_local=not sends)
    return [with_paths(act, writes=[path])]


def in_options(options: Sequence[str]) -> list[str]:
    """What options name that may be a path: `--file=x/y`, `-fx/y`."""
    values = [_value(option) for option in options if option.startswith("-")]
    return [value for value in values if "/" in value or value.startswith((".", HOME))]


def _value(option: str) -> str:
    name, found, value = option.partition("=")
    return value if found and name.startswith("--") else option[2:]


def with_paths(
    act: Act,
    *,
    reads: Sequence[str] = (),
    trees: Sequence[str] = (),
    writes: Sequence[str] = (),
    carries: Sequence[str] = (),
) -> Act:
    """The act with these paths; one that only the shell can tell is a reason to ask."""
    named = (reads, trees, writes, carries)
    if not act.why and any(UNKNOWN in path for paths in named for path in paths):
        act = replace(act, why="names a file that only the shell can tell")
    known = [tuple(path for path in paths if UNKNOWN not in path) for paths in named]
    return replace(act, reads=known[0], trees=known[1], writes=known[2], carries=known[3])


def shown(word: str) -> str:
    """The word for a person."""
    return word.replace(UNKNOWN, "…")
