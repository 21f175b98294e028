"""Where a call would really act: links followed, globs opened, secrets looked for."""

from __future__ import annotations

import glob
import os
import re
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
_CLASS = re.compile(r"\[(?:\[:\w+:\]|[^\]])+\]")  # one character; each shell knows other ones


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
        plants=partial(_plants, top),
    )


def ground_now(cwd: Callable[[], Path], root: Path) -> Ground:
    """The same where the directory may be gone: paths are then taken by their words."""
    try:
        return ground_at(cwd(), root)
    except NoWorkingDirectory:  # another gate's business
        return ground_at(None, root)


def _real(top: str, path: str) -> list[str]:
    """Where the path leads, or if it is a pattern every name that it fits now."""
    names: list[str] = []
    if glob.has_magic(path):
        found = glob.iglob(_CLASS.sub("?", path), root_dir=top)  # noqa: PTH207 - patterns may be absolute
        names += [name for name, _ in zip(found, range(OPENED), strict=False)]
    if not names or len(names) == OPENED:
        names.append(path)
    return [_resolved(os.path.join(top, name)) for name in names]  # noqa: PTH118 - `..` behind links


def _resolved(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a link that may not be read, as in /proc; or no name at all
        return os.path.abspath(path)  # noqa: PTH100 - Path.absolute keeps `..`


def _files_below(top: str, place: str) -> list[str]:
    start = place if place.startswith("/") else os.path.normpath(f"{top}/{place}")
    return [path.removeprefix(f"{top}/") for path in _names_below(start)]


def _plants(top: str, path: str) -> bool:
    place = _resolved(os.path.join(top, path))  # noqa: PTH118 - `..` behind links
    inside = [place, *map(str, Path(place).parents)] if place.startswith(f"{top}/") else []
    return any(os.path.lexists(f"{folder}/HEAD") for folder in inside if len(folder) > len(top))


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
        for path in (f"{directory}/{name}" for name in [*files, *below]):
            if path.rpartition("/")[2] not in below or Path(path).is_symlink():
                yield _resolved(path) if Path(path).is_symlink() else path
        if left <= 0:
            return
