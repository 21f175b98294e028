"""Pure but for looking programs up: which programs a check starts, where, and under which variables."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SEPARATORS = frozenset({";", ";;", "&&", "||", "|", "&", "(", ")", "\n"})
_PREFIXES = frozenset({"env", "exec", "time", "command", "nice", "nohup"})


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program with its arguments, as a shell would start it."""

    word: str  # as it was written
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path

    @property
    def name(self) -> str:
        return Path(self.word).name

    def found(self) -> Path | None:
        """The file that would run."""
        if "/" in self.word:
            file = self.cwd / self.word
            return file if file.is_file() else None
        named = shutil.which(self.word, path=self.environment.get("PATH"))
        return Path(named) if named else None


def programs(command: str, environment: Mapping[str, str], cwd: Path) -> Iterator[Program]:
    """The programs of a command line in their order; one that a shell could not read has none.

    Assignments, `export`, `cd` and the activation of a Python environment are followed, substitutions
    and loops are not.
    """
    variables = {**environment, "PWD": str(cwd)}
    for words in _simple_commands(command):
        given = dict(variables)
        rest = [_expanded(word, variables) for word in words]
        while rest and (_ASSIGNMENT.match(rest[0]) or rest[0] in _PREFIXES):
            word = rest.pop(0)
            if _ASSIGNMENT.match(word):
                name, _, value = word.partition("=")
                given[name] = value
        if not rest:  # assignments alone stay
            variables |= given
        elif not _changes_shell(rest, variables):
            yield Program(
                word=rest[0], arguments=tuple(rest[1:]), environment=given, cwd=Path(variables["PWD"])
            )


def _changes_shell(words: list[str], variables: dict[str, str]) -> bool:
    """Whether the command is one of the shell itself that the following ones feel."""
    first, arguments = words[0], words[1:]
    if first == "export":
        variables |= dict(word.split("=", 1) for word in arguments if _ASSIGNMENT.match(word))
    elif first == "cd" and arguments:
        variables["PWD"] = str(Path(variables["PWD"], arguments[-1]))
    elif first in {".", "source"} and arguments and arguments[0].endswith("bin/activate"):
        place = Path(variables["PWD"], arguments[0]).parent
        variables["PATH"] = f"{place}:{variables.get('PATH', '')}"
    else:
        return first in {"set", "cd", ".", "source", "export", "true", ":"}
    return True


def _simple_commands(command: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if word in _SEPARATORS:
                if words:
                    yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # an open quote
        return
    if words:
        yield words


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], ""), word)
