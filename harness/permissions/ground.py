"""Where a call would really act: links followed, globs opened, secrets looked for."""

from __future__ import annotations

import glob
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.permissions.answers import persons_directory
from harness.permissions.protected import GIT
from harness.permissions.ruling import Ground, is_outside
from harness.skills.skill import FILE as SKILL
from harness.tool import NoWorkingDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = 20_000  # of one look below a directory
OPENED = 1000  # names that a glob is taken to stand for


def ground_at(cwd: Path | None, root: Path) -> Ground:
    """The ground of a call in this directory of this team, looked at now."""
    top = os.path.realpath(cwd) if cwd else ""
    return Ground(
        cwd=top,
        root=os.path.realpath(root),
        persons=os.path.realpath(persons_directory().parent),
        real=partial(_real, top) if top else None,
        files_below=partial(_files_below, top),
        in_skill=partial(_in_skill, top),
    )


def ground_now(cwd: Callable[[], Path], root: Path) -> Ground:
    """The same where the directory may be gone: paths are then taken by their words."""
    try:
        return ground_at(cwd(), root)
    except NoWorkingDirectory:  # another gate's business
        return ground_at(None, root)


def _real(top: str, path: str) -> list[str]:
    """Where the path leads, and if it is a pattern also every name that it fits now."""
    names = [path]
    if glob.has_magic(path):
        found = glob.iglob(path, root_dir=top, include_hidden=True)  # noqa: PTH207 - patterns may be absolute
        names += [name for name, _ in zip(found, range(OPENED), strict=False)]
    return [os.path.realpath(f"{top}/{name}" if not name.startswith("/") else name) for name in names]


def _files_below(top: str, place: str) -> list[str]:
    start = place if place.startswith("/") else os.path.normpath(f"{top}/{place}")
    return [path.removeprefix(f"{top}/") for path in _names_below(start)]


def _in_skill(top: str, place: str) -> bool:
    if is_outside(place):
        return False
    folders = Path(place).parents
    return any(Path(top, folder, SKILL).exists() for folder in folders if folder != Path())


def _names_below(start: str) -> Iterator[str]:
    left = NAMES
    for directory, below, files in os.walk(start):
        below[:] = [name for name in below if name != GIT]
        left -= len(files) + len(below)
        yield from (f"{directory}/{name}" for name in files)
        if left <= 0:
            return
