"""Prove of a merge commit that it holds every change of both sides, and nothing else."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.json_form import scrub
from workspace.merging import authorship, merged_tree
from workspace.submodules import REPOSITORY
from workspace.text_proof import lost_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.git import Git

_ABSENT = "000000"
_RENAME_LIMIT = "-l7000"  # what a merge looks at, so that both see the same renames


@dataclass(frozen=True)
class Entry:
    """What a tree says of a path."""

    mode: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """What became of one file between two trees; None before an addition and after a deletion."""

    old: str | None
    new: str | None
    before: Entry | None
    after: Entry | None


def unproven(git: Git, ours: str, theirs: str, merged: str) -> tuple[str, ...]:
    """What the merge of two commits lacks, or has beyond them, a sentence each; empty when proven.

    Each changed file has to be exactly what its one changed side made of it; one that both sides changed
    has to hold every hunk of both. Raises GitError, also for commits without a common one.
    """
    return tuple(scrub(fault) for fault in _Proof(git, ours, theirs, merged).faults())


def common_state(git: Git, ours: str, theirs: str) -> str:
    """What both sides start from; several such commits are combined first, as a merge does it."""
    state, *others = git.run("merge-base", "--all", ours, theirs).split()
    for other in others:
        tree = merged_tree(git, state, other).tree
        parents = ("-p", state, "-p", other)
        by = authorship("leadhand", git.person_email())
        state = git.run("commit-tree", tree, *parents, given=b"Common state\n", environment=by)
    return state


def changes(git: Git, before: str, after: str, *, renames: bool = True) -> list[Change]:
    """Every file that differs between two trees."""
    options = ("-M", _RENAME_LIMIT) if renames else ("--no-renames",)
    fields = iter(git.run("diff-tree", "-r", "-z", "--raw", *options, before, after).split("\0"))
    return [_change(head, fields) for head in fields if head]


def _change(head: str, fields: Iterator[str]) -> Change:
    old_mode, new_mode, old_content, new_content, status = head.lstrip(":").split()
    path = next(fields)
    moved_to = next(fields) if status[0] == "R" else path
    return Change(
        old=None if old_mode == _ABSENT else path,
        new=None if new_mode == _ABSENT else moved_to,
        before=None if old_mode == _ABSENT else Entry(old_mode, old_content),
        after=None if new_mode == _ABSENT else Entry(new_mode, new_content),
    )


class _Proof:
    """Two sides, what they started from, and what is said to be their merge."""

    def __init__(self, git: Git, ours: str, theirs: str, merged: str) -> None:
        base = common_state(git, ours, theirs)
        self._git = git
        self._ours, self._theirs = changes(git, base, ours), changes(git, base, theirs)
        found = changes(git, base, merged, renames=False)
        self._found = {change.new or change.old: change.after for change in found}
        self._accounted: set[str | None] = {None}

    def faults(self) -> Iterator[str]:
        ours = {change.old or change.new: change for change in self._ours}
        theirs = {change.old or change.new: change for change in self._theirs}
        for path in dict.fromkeys((*ours, *theirs)):
            mine, yours = ours.get(path), theirs.get(path)
            if mine and yours:
                yield from self._of_both(mine, yours)
            else:
                yield from self._of_one(mine or yours, "the branch" if mine else "the work")
        for extra in sorted(filter(None, self._found.keys() - self._accounted)):
            yield f"{extra} is changed although neither side changed it"
        yield from _collisions(self._ours, self._theirs)

    def _of_one(self, change: Change | None, side: str) -> Iterator[str]:
        assert change is not None
        self._accounted |= {change.old, change.new}
        yield from self._left_behind(change)
        where = change.new or change.old
        if self._at(where, change.before) == change.after:
            return
        if change.old is None and (moved := self._moved_along(change.after)):
            self._accounted.add(moved)
            return
        yield f"{where} is not what {side} made of it"

    def _left_behind(self, change: Change) -> Iterator[str]:
        is_renamed = change.old and change.new and change.old != change.new
        if is_renamed and self._at(change.old, change.before) == change.before:
            yield f"{change.old} is there although it was renamed to {change.new}"

    def _moved_along(self, entry: Entry | None) -> str | None:
        """Where a new file lies when the other side renamed its directory."""
        known = {change.new for change in (*self._ours, *self._theirs)}
        return next((path for path, at in self._found.items() if at == entry and path not in known), None)

    def _of_both(self, mine: Change, yours: Change) -> Iterator[str]:
        self._accounted |= {mine.old, mine.new, yours.old, yours.new}
        where = mine.new if mine.new != mine.old else yours.new
        if mine.after is None or yours.after is None or yours.new not in {yours.old, where}:
            if mine.after or yours.after:
                yield f"{mine.old} is deleted or renamed on one side and changed on the other"
            elif self._at(mine.old, mine.before):
                yield f"{mine.old} is there although both sides deleted it"
            return
        yield from self._left_behind(mine if mine.new != mine.old else yours)
        found = self._at(where, mine.before if where == mine.old else None)
        yield from self._of_three(str(where), mine, yours, found)

    def _of_three(self, where: str, mine: Change, yours: Change, found: Entry | None) -> Iterator[str]:
        assert mine.after
        assert yours.after
        before = mine.before or Entry(_ABSENT, "")
        mode = _pick(before.mode, mine.after.mode, yours.after.mode)
        content = _pick(before.content, mine.after.content, yours.after.content)
        if found is None:
            yield f"{where} is missing"
        elif found.mode != mode:
            yield f"{where} has the mode {found.mode}, which its two sides do not lead to"
        elif content and found.content != content:
            yield f"{where} is not what one side made of it"
        elif content is None and mode == REPOSITORY:
            yield f"{where} is a submodule that both sides moved"
        elif content is None:
            lost = lost_lines(
                self._git,
                before=before.content,
                sides=(mine.after.content, yours.after.content),
                found=found.content,
            )
            if lost is not None:
                yield f"{where} does not hold every change of both sides, for example: {lost.strip()[:80]}"

    def _at(self, path: str | None, unchanged: Entry | None) -> Entry | None:
        return self._found.get(path, unchanged)


def _pick(before: str, ours: str, theirs: str) -> str | None:
    """The value that a merge has to have; None where both sides changed it, each in its own way."""
    if theirs in {before, ours}:
        return ours
    return theirs if ours == before else None


def _collisions(ours: Iterable[Change], theirs: Iterable[Change]) -> Iterator[str]:
    """New paths of two sides that are one file where names ignore case or the form of accents."""
    by_plain = {_plain(change.new): change.new for change in ours if change.new and change.new != change.old}
    for change in theirs:
        other = by_plain.get(_plain(change.new)) if change.new and change.new != change.old else None
        if other and other != change.new:
            yield f"{other} and {change.new} are the same file on systems that ignore case; rename one"


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
