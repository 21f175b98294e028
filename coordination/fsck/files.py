"""Inspect the files themselves: leftovers of dead processes, links, what cannot be read or written."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from coordination import layout
from coordination.finding import Finding, error, note
from coordination.process import start_mark, this_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordination.team_root import Team

_TEMPORARY = re.compile(
    rf"{re.escape(layout.TEMPORARY)}(?P<host>.*)~(?P<boot>[^~]*)~(?P<pid>[0-9]+)~[0-9a-f]+"
)
_STATE = tuple(name for name in layout.TOP_LEVEL if name != layout.WORKTREES)


def inspect_files(team: Team) -> Iterator[Finding]:
    """What is wrong with the directories of the team, whatever lies in them."""
    for top in layout.TOP_LEVEL:
        if (team.root / top).is_dir():
            yield from _closed(top, team.root / top)
    for top in _STATE:
        for directory, below, files in os.walk(team.root / top):
            here = Path(directory).relative_to(team.root).as_posix()
            for name in (*below, *files):
                yield from _entry(team, f"{here}/{name}", is_directory=name in below)


def _entry(team: Team, where: str, *, is_directory: bool) -> Iterator[Finding]:
    path = team.root / where
    name = path.name
    if _is_stale(name):
        yield note(
            "stale_temporary",
            where,
            "its writer is dead",
            why="it only takes room",
            repair="removes it",
            mend=lambda: team.directory.unlink(where),
        )
        return
    try:
        mode = path.lstat().st_mode
    except OSError:  # it was there a moment ago
        return
    if stat.S_ISLNK(mode):
        if not _is_view(where, path):
            yield error("link", where, "a link", why="what is written through it leaves the team directory")
    elif is_directory:
        yield from _closed(where, path)
    elif not stat.S_ISREG(mode):
        yield error("no_file", where, "neither file nor directory", why="it is never read")
    elif not _may(path, os.R_OK):
        yield _no_access(where, "read")


def _closed(where: str, directory: Path) -> Iterator[Finding]:
    """Asked of each by its name: a walk passes over what it may not list."""
    if not _may(directory, os.R_OK | os.W_OK | os.X_OK):
        yield _no_access(where, "write in")


def _may(path: str | Path, how: int) -> bool:
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)


def _no_access(where: str, what: str) -> Finding:
    return error(
        "no_access",
        where,
        f"this user may not {what} it",
        why="the team stops there",
        repair="nothing; use chown",
    )


def _is_view(where: str, path: Path) -> bool:
    """The link to the newest received mail of a name: `mailboxes/alice.jsonl`."""
    return where.count("/") == 1 and path.suffix == ".jsonl" and len(path.readlink().parts) == 1


def _is_stale(name: str) -> bool:
    match = _TEMPORARY.fullmatch(name)
    if match is None:
        return False
    me = this_process()
    is_near = (match["host"], match["boot"]) == (me.host, me.boot[:8])
    return is_near and start_mark(int(match["pid"])) is None
