"""Bring what was committed or staged inside a box into the repository, as data that the host checks."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.child import tool_environment
from coordination.errors import TeamError, cause_of
from workspace.git import GitError, UnknownCommit

if TYPE_CHECKING:
    from workspace.commands import CommandRunner
    from workspace.git import Git
    from workspace.sandbox.tree_box import TreeBox

TIMEOUT_SECONDS = 300.0  # as for a git of the host
PACK = "leadhand.pack"
MOST_BYTES = 4_000_000_000  # of the new objects of one tree
_SHOWN = 2000  # bytes of what it printed
# Runs inside, so that nothing of the tree's git files has to be believed.
_PACK_UP = """\
head=$(git rev-parse --verify --quiet 'HEAD^{commit}') || exit 1
tree=$(git write-tree 2>/dev/null) || tree=$(git rev-parse --verify "$head^{tree}") || exit 1
rm -rf "$TMPDIR/@PACK@"
printf '%s\\n' "$head" "$tree" '^@BASE@' |
  git pack-objects --quiet --revs --thin --stdout >"$TMPDIR/@PACK@" || exit 1
printf '\\n%s %s\\n' "$head" "$tree"
"""
_SAID = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64})")


@dataclass(eq=False)
class NotTakenOver(TeamError):
    """What git recorded inside the sandbox cannot become the repository's."""

    tree: str
    why: str
    says = (
        "what was committed in {tree} cannot be taken over ({why}); `git reset --soft ORIGINAL` inside keeps "
        "the files and drops the commits, then try again"
    )


def take_over(here: Git, box: TreeBox, runner: CommandRunner) -> None:
    """The tree stands at the commit that its box stands at, with the same files staged.

    Nothing happens where nothing was committed or staged, or where the host has moved the tree since
    the box was made. `runner` starts commands inside. Raises NotTakenOver, GitError.
    """
    base = box.base
    if base is None or base != box.real_head or box.is_untouched():
        return
    head, tree = _pack_up(here, box, runner, base)
    try:
        if not all(here.holds("cat-file", "-e", name) for name in (head, tree)):
            _take_objects(here, box)
        if here.commit_of(head) != head or not here.is_ancestor(base, head):
            raise _refused(here, f"its commit {head:.10} does not descend from {base:.10}")
        here.run("update-ref", "--no-deref", "HEAD", head, base)
        here.run("read-tree", "--reset", tree)
    except UnknownCommit as error:
        raise _refused(here, f"{head:.10} is no commit") from error
    except GitError as error:
        raise _refused(here, error.stderr) from error
    box.took_over(head)


def _pack_up(here: Git, box: TreeBox, runner: CommandRunner, base: str) -> tuple[str, str]:
    """The commit and the tree of files that the box stands at; their objects are in its pack."""
    ran = runner.run(
        _PACK_UP.replace("@PACK@", PACK).replace("@BASE@", base),
        cwd=box.place.tree,
        environment=tool_environment(),
        timeout_seconds=TIMEOUT_SECONDS,
        kept=_SHOWN,
    )
    found = _SAID.fullmatch(ran.output.splitlines()[-1]) if ran.output and ran.exit_code == 0 else None
    if found is None:
        raise _refused(here, ran.output[-_SHOWN:] or "git gives no commit there")
    return found[1], found[2]


def _take_objects(here: Git, box: TreeBox) -> None:
    """Every new object is in the repository, each checked, and none names one that is missing."""
    try:
        descriptor = os.open(box.temporary / PACK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(here, f"its pack cannot be read: {cause_of(error)}") from error
    with os.fdopen(descriptor, "rb") as pack:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _refused(here, "its pack is no file")
        limit = f"--max-input-size={MOST_BYTES}"
        here.run("index-pack", "--strict", "--stdin", "--fix-thin", limit, given=pack)


def _refused(here: Git, why: str) -> NotTakenOver:
    return NotTakenOver(tree=here.place.tree.name, why=why)
