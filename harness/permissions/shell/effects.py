"""Pure: what each command of a command line reads, writes and sends, and from where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from posixpath import join, normpath
from typing import TYPE_CHECKING

from harness.permissions.shell.act import HOME, NOWHERE, SOCKETS, Act, of_write, with_paths
from harness.permissions.shell.acts import HARMLESS, SYSTEM_PROGRAMS, of_words
from harness.permissions.shell.inside import SHELLS, each, git_words, is_plain, program, script, texts
from harness.permissions.shell.programs import READERS
from harness.permissions.shell.words import UNKNOWN, Command, commands

if TYPE_CHECKING:
    from collections.abc import Sequence


LOADED = re.compile(  # variables that change which program runs, or what it does, once they are set
    r"PATH|HOME|IFS|CDPATH|ENV|PS4|SHELLOPTS|TMPDIR|PAGER|EDITOR|VISUAL|LESS\w*|\w+_PROXY"
    r"|RANDOM|SECONDS|OPTIND|LINENO|HISTCMD|BASH\w*|_\w+"
    r"|(?:LD|DYLD|GIT|PYTHON|NODE|PERL|RUBY|RIPGREP|GREP|JAVA|SSH|CARGO|NPM)_?\w*"
)
_DEPTH = 8  # of shells inside shells
_CHAIN = re.compile(r"(?:[^;|&\n()]|&&)*")  # what fails ends it, so that a `cd` holds for all behind it


@dataclass
class _Walk:
    """Where the commands of one line may be: a `cd` in a part of it may hold for the rest or not."""

    places: list[str] = field(default_factory=lambda: ["."])

    def enter(self, path: str, *, surely: bool) -> None:
        there = self.ways(path)
        self.places = list(dict.fromkeys(there if surely else [*self.places, *there]))

    def ways(self, path: str) -> list[str]:
        """Where `cd` may lead: a shell takes `..` from the words, everybody else from the directory."""
        there = self.see([path])
        return [*there, *(normpath(place) for place in there if ".." in place)]

    def see(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Every place that these paths may lead to, relative to the working directory or absolute."""
        return tuple(dict.fromkeys(_placed(place, path) for path in paths for place in self.places))

    def place(self, act: Act) -> Act:
        return replace(
            act,
            reads=self.see(act.reads),
            trees=self.see(act.trees),
            writes=self.see(act.writes),
            carries=self.see(act.carries),
            at=self.see(act.at),
        )


def acts(text: str) -> list[Act]:
    """What every command of the text does, in its order; what cannot be read is an act that nobody knows."""
    return _acts(text, _Walk(), 0)


def lines_of(checks: Sequence[str]) -> frozenset[str]:
    """Every command of these commands of people, as a rule is compared with it."""
    return frozenset(act.line for check in checks for act in acts(check))


def may_send(text: str) -> bool:
    """True for commands that talk to other machines, so that what they print was written elsewhere."""
    return any(act.sends for act in acts(text))


def _acts(text: str, walk: _Walk, depth: int) -> list[Act]:
    found: list[Act] = []
    for command in commands(text):
        found += [walk.place(act) for act in _acts_of(command)]
        if command.words[:1] == ["cd"] and len(command.words) == 2:
            found += [Act(reads=tuple(walk.ways(command.words[1])))]
            walk.enter(command.words[1], surely=_CHAIN.fullmatch(text) is not None)
        for words in each(command.words) if depth < _DEPTH else ():
            for inner in texts(command, words):
                found += _acts(inner, walk, depth + 1)
    return found


def _acts_of(command: Command) -> list[Act]:
    if command.writes_to:
        return of_write(command.writes_to)
    if command.reads_from:
        path = command.reads_from
        return [] if path in NOWHERE else [with_paths(Act(sends=path.startswith(SOCKETS)), reads=[path])]
    odd = _odd_names(command)
    if not command.words:
        return [Act(line=f"{name}=", why=f"sets {name}, which changes what programs do") for name in odd]
    found: list[Act] = []
    lines: list[str] = []  # of wrappers that change nothing
    for words in each(command.words):
        lines.append(" ".join(words))
        if not is_plain(words) and not _is_only_shell(words):
            line, *also = dict.fromkeys([*lines, *_in_short(words)])
            found.append(replace(_known(words, within=bool(found)), line=line, also=tuple(also)))
            lines = []
    if odd and found:  # no rule for the program alone is meant for this
        line = f"{'= '.join(odd)}= {found[0].line}"
        found[0] = replace(found[0], line=line, why=f"sets {', '.join(odd)} for {command.words[0]}")
    return found


def _is_only_shell(words: Sequence[str]) -> bool:
    """True for a shell, or `eval`, of which all is told by the text that it runs."""
    name, text = program(words[0]), script(words)
    plain = (
        all(re.fullmatch(r"-[elux]*c|-[elux]+|-o|pipefail", word) for word in words[1 : words.index(text)])
        if text in words
        else False
    )
    return words[0] == "eval" or (name in SHELLS and plain and UNKNOWN not in (text or UNKNOWN))


def _in_short(words: Sequence[str]) -> list[str]:
    """The words as a rule that says no names them: without a directory, and without options of git."""
    directory, _, name = words[0].rpartition("/")
    words = [name if directory in SYSTEM_PROGRAMS else words[0], *words[1:]]
    return [" ".join(words), *([" ".join(git_words(words))] if name == "git" else [])]


def _known(words: Sequence[str], *, within: bool) -> Act:
    act = of_words(words)
    if within and not act.why and program(words[0]) not in READERS and any("{}" in word for word in words):
        return replace(act, why=f"{words[0]} is given what only {{}} tells")
    return act


def _odd_names(command: Command) -> list[str]:
    """The variables that it sets and that change what programs do."""
    if command.words:
        known = {"IFS"} if command.words[0] == "read" else set()
        return [name for name in command.sets if not HARMLESS.fullmatch(name) and name not in known]
    return [name for name in command.sets if LOADED.fullmatch(name)]


def _placed(place: str, path: str) -> str:
    if path.startswith(("$HOME", HOME)):
        return HOME + path.removeprefix("$HOME").removeprefix(HOME)
    return join(place, path)
