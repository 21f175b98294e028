"""Pure: what each command of a command line reads, writes and sends, and from where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from posixpath import join, normpath
from typing import TYPE_CHECKING

from harness.permissions.shell_acts import (
    HARMLESS,
    HOME,
    NOWHERE,
    Act,
    of_words,
    of_write,
    with_paths,
)
from harness.permissions.shell_words import UNKNOWN, Command, commands

if TYPE_CHECKING:
    from collections.abc import Sequence


LOADED = re.compile(  # variables that change which program runs, or what it does, once they are set
    r"PATH|HOME|IFS|CDPATH|ENV|BASH_ENV|PS4|SHELLOPTS|TMPDIR|PAGER|EDITOR|VISUAL|LESS\w*|\w+_PROXY"
    r"|(?:LD|DYLD|GIT|PYTHON|NODE|PERL|RUBY|RIPGREP|GREP|JAVA|SSH|CARGO|NPM)_?\w*"
)
_INNER_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_DEPTH = 8  # of shells inside shells
_CHAIN = re.compile(r"(?:[^;|&\n()]|&&)*")  # what fails ends it, so that a `cd` holds for all behind it


@dataclass
class _Walk:
    """Where the commands of one line may be: a `cd` in a part of it may hold for the rest or not."""

    places: list[str] = field(default_factory=lambda: ["."])

    def enter(self, path: str, *, surely: bool) -> None:
        there = list(self.see([path]))
        self.places = (
            there if surely else [*self.places, *(place for place in there if place not in self.places)]
        )

    def see(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Every place that these paths may lead to, relative to the working directory or absolute."""
        return tuple(dict.fromkeys(_placed(place, path) for path in paths for place in self.places))

    def place(self, act: Act) -> Act:
        return replace(act, reads=self.see(act.reads), trees=self.see(act.trees), writes=self.see(act.writes))


def acts(text: str) -> list[Act]:
    """What every command of the text does, in its order; what cannot be read is an act that nobody knows."""
    return _acts(text, _Walk(), 0)


def may_send(text: str) -> bool:
    """True for commands that talk to other machines, so that what they print was written elsewhere."""
    return any(act.sends for act in acts(text))


def _acts(text: str, walk: _Walk, depth: int) -> list[Act]:
    found: list[Act] = []
    for command in commands(text):
        inner = _inner_text(command.words) if depth < _DEPTH else None
        if inner is not None:
            found += _acts(inner, walk, depth + 1)
            continue
        found += [walk.place(act) for act in _acts_of(command)]
        if command.words[:1] == ["cd"] and len(command.words) == 2:
            walk.enter(command.words[1], surely=_CHAIN.fullmatch(text) is not None)
    return found


def _inner_text(words: Sequence[str]) -> str | None:
    """The text that a shell is given to run, where it is nothing but that."""
    if words[:1] == ["eval"]:
        return " ".join(words[1:])
    runs = len(words) == 3 and words[0] in _INNER_SHELLS and re.fullmatch(r"-[elux]*c", words[1])
    return words[2] if runs and UNKNOWN not in words[2] else None


def _acts_of(command: Command) -> list[Act]:
    if command.writes_to:
        return of_write(command.writes_to)
    if command.reads_from:
        return [] if command.reads_from in NOWHERE else [with_paths(Act(), reads=[command.reads_from])]
    odd = _odd_names(command)
    if not command.words:
        return [Act(line=f"{name}=", why=f"sets {name}, which changes what programs do") for name in odd]
    act = of_words(command.words)
    line = " ".join(command.words)
    if odd:
        act = replace(act, why=f"sets {', '.join(odd)} for {command.words[0]}")
        line = f"{'= '.join(odd)}= {line}"  # no rule for the program alone is meant for this
    return [replace(act, line=line)]


def _odd_names(command: Command) -> list[str]:
    """The variables that it sets and that change what programs do."""
    if command.words:
        return [name for name in command.sets if not HARMLESS.fullmatch(name)]
    return [name for name in command.sets if LOADED.fullmatch(name)]


def _placed(place: str, path: str) -> str:
    if path.startswith(("$HOME", HOME)):
        return HOME + path.removeprefix("$HOME").removeprefix(HOME)
    if place.startswith(HOME) and not path.startswith("/"):
        return f"{place}/{path}"
    return normpath(join(place, path))
