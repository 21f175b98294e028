"""Prove of a merged text that it holds every hunk of both sides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.git import Git

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF = (  # as a merge compares, whatever the configuration says
    *("--unified=0", "--inter-hunk-context=0", "--diff-algorithm=histogram", "--text"),
    *("--no-color", "--no-ext-diff", "--no-textconv"),
)


@dataclass(frozen=True, order=True)
class Hunk:
    """One change of a text: these lines in place of `count` lines from `start` on, counted from 0."""

    start: int
    count: int
    lines: tuple[str, ...]

    @property
    def end(self) -> int:
        return self.start + self.count


def lost_lines(git: Git, *, before: str, sides: tuple[str, str], found: str) -> str | None:
    """None when the text `found` is `before` with the hunks of both sides; else a line to look at.

    All are ids of blobs; an empty `before` is an empty text. Where hunks of the two sides overlap and git
    put them together all the same (a union merge), each side's new lines have to be there in their order.
    """
    base, merged = _lines(git, before), _lines(git, found)
    hunks = [_hunks(git, before, side, base) for side in sides]
    together = sorted({*hunks[0], *hunks[1]})
    if any(second.start < first.end or second.start == first.start for first, second in pairwise(together)):
        return next((lost for side in hunks if (lost := _not_in_order(side, merged)) is not None), None)
    return _first_difference(_applied(base, together), merged)


def _lines(git: Git, blob: str) -> list[str]:
    text = git.run("cat-file", "blob", blob) if blob else ""
    return text.split("\n") if text else []


def _hunks(git: Git, before: str, after: str, base: Sequence[str]) -> list[Hunk]:
    new = _lines(git, after)
    if not before:
        return [Hunk(0, 0, tuple(new))]
    listing = git.run("diff", *_DIFF, before, after)
    hunks = []
    for line in listing.split("\n"):
        if match := _HUNK.match(line):
            start, count, new_start, new_count = (
                int(number) if number is not None else 1 for number in match.groups()
            )
            first = start - 1 if count else start
            first_new = new_start - 1 if new_count else new_start
            count = min(count, len(base) - first)
            hunks.append(Hunk(first, count, tuple(new[first_new : first_new + new_count])))
    return hunks


def _applied(base: Sequence[str], hunks: Iterable[Hunk]) -> list[str]:
    text: list[str] = []
    at = 0
    for hunk in hunks:
        text += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return [*text, *base[at:]]


def _first_difference(wanted: Sequence[str], found: Sequence[str]) -> str | None:
    if list(wanted) == list(found):
        return None
    differing = (line for line, other in zip(wanted, found, strict=False) if line != other)
    longer = wanted[len(found) :] or found[len(wanted) :]
    return next(differing, longer[0] if longer else "")


def _not_in_order(hunks: Iterable[Hunk], found: Sequence[str]) -> str | None:
    rest = iter(found)
    return next((line for hunk in hunks for line in hunk.lines if line not in rest), None)
