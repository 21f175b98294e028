"""The files below a directory as git would list them, and glob patterns over their names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.tools.paths import Place, is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pathspec
    from wcmatch.glob import WcMatcher

VISITED = 200_000  # entries of one walk
RULES_BYTES = 1_000_000  # of one `.gitignore`


@dataclass(frozen=True)
class Rules:
    """One `.gitignore`: what it says holds below its own directory."""

    below: str  # relative to the working directory, empty or with a slash at the end
    spec: pathspec.GitIgnoreSpec


@dataclass(frozen=True)
class Entry:
    """A name below the working directory; a link counts as the file it leads to."""

    path: str  # relative to the working directory
    is_directory: bool


def entries_below(cwd: Path, start: str = "") -> Iterator[Entry]:
    """What lies below `start` (relative to `cwd`), sorted, parents first.

    Ignored and protected names, and links that lead out, are left out; a start that is ignored
    itself was asked for on purpose, so only the rules below it count. Stops after `VISITED` entries.
    """
    above = [*_parents(start), start] if start else [""]
    rules: list[Rules] = []
    for place in above[:-1]:
        rules += _rules(cwd, place)
    if start and _ignored(f"{start}/", rules):
        rules = []
    left = VISITED
    stack = [(start, rules)]
    while stack:
        place, rules = stack.pop()
        rules = rules + _rules(cwd, place)
        found = _children(cwd, place, rules)
        left -= len(found)
        yield from found
        if left <= 0:
            return
        stack += [(entry.path, rules) for entry in reversed(found) if entry.is_directory]


def _parents(start: str) -> list[str]:
    parts = start.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts))]


def _children(cwd: Path, place: str, rules: list[Rules]) -> list[Entry]:
    try:
        with _in(cwd, place).parent() as here, os.scandir(here) as listing:
            found = [_entry(cwd, place, item) for item in listing]
    except OSError:  # vanished, or not ours to read
        return []
    shown = [entry for entry in found if entry and not _left_out(entry, rules)]
    return sorted(shown, key=lambda entry: entry.path)


def _in(cwd: Path, place: str, name: str = "") -> Place:
    """The name in a directory that a walk came to, whatever lies there by now."""
    return Place(path=cwd / place / (name or "_"), top=cwd, shown=name)


def _entry(cwd: Path, place: str, item: os.DirEntry[str]) -> Entry | None:
    path = f"{place}/{item.name}" if place else item.name
    if item.is_dir(follow_symlinks=False):
        return Entry(path, is_directory=True)
    if item.is_symlink():
        real = (cwd / path).resolve()
        inside = real.is_relative_to(cwd) and not is_hidden(real.relative_to(cwd).as_posix())
        return Entry(path, is_directory=False) if inside and real.is_file() else None
    return Entry(path, is_directory=False) if item.is_file() else None


def _left_out(entry: Entry, rules: list[Rules]) -> bool:
    return is_hidden(entry.path) or _ignored(entry.path + "/" * entry.is_directory, rules)


def _ignored(path: str, rules: list[Rules]) -> bool:
    for rule in reversed(rules):  # the deepest file that says anything decides
        verdict = rule.spec.check_file(path.removeprefix(rule.below)).include
        if verdict is not None:
            return verdict
    return False


def _rules(cwd: Path, place: str) -> list[Rules]:
    import pathspec  # noqa: PLC0415 - a start that lists nothing need not pay for it

    try:
        with _in(cwd, place, ".gitignore").opened() as file:
            text = file.read(RULES_BYTES).decode("utf-8", "replace")
        spec = pathspec.GitIgnoreSpec.from_lines(text.splitlines())
    except (OSError, ValueError):  # none there, or a line that is no pattern
        return []
    return [Rules(below=f"{place}/" if place else "", spec=spec)]


def as_pattern(glob: str) -> WcMatcher[str]:
    """Matches whole relative paths: `*`, `?`, `[…]` within one name, `**` over many, `{a,b}`."""
    from wcmatch.glob import BRACE, DOTGLOB, FORCEUNIX, GLOBSTAR, compile  # noqa: A004, PLC0415 - as above

    return compile(glob, flags=GLOBSTAR | BRACE | DOTGLOB | FORCEUNIX)
