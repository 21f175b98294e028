"""What a command in the sandbox sees and may write, as arguments of bubblewrap."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workspace.sandbox.program import APART

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.sandbox.tree_box import TreeBox

HOMES = (Path("/home"), Path("/root"))  # nobody's home is shown
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - what is shown in their place is the box's
RUN = Path("/run")  # holds the sockets of services
RESOLVER = Path("/etc/resolv.conf")  # often a link to a file below /run
DEVICES = Path("/dev/shm")  # noqa: S108 - likewise


@dataclass(frozen=True, kw_only=True)
class View:
    """What is shown of this machine to every command of a team."""

    home: Path
    programs: Sequence[Path]  # directories that stay readable though what is around them is hidden
    shown: Sequence[Path]  # the same, of the repository and the team
    hidden: Sequence[Path]  # directories and files below those
    shown_in_hidden: Sequence[Path]


def arguments(view: View, box: TreeBox | None, cwd: Path, *, network: bool) -> list[str]:
    """Options of bubblewrap, in the order in which it mounts; a later one covers an earlier.

    Without a box nothing but temporary files can be written, and those last no longer than the command.
    """
    options = [*APART, *(["--share-net"] if network else [])]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", str(RUN)]
    resolver = Path(os.path.realpath(RESOLVER))
    if resolver.is_relative_to(RUN):
        options += ["--ro-bind-try", str(resolver), str(resolver)]
    options += _private(view, box)
    for place in (*_covered(view), *view.shown):
        options += ["--ro-bind", str(place), str(place)]
    for place in view.hidden:
        options += _cover(place)
    for place in view.shown_in_hidden:
        options += ["--ro-bind-try", str(place), str(place)]
    if box:
        options += _of_tree(box)
    return [*options, "--setenv", "TMPDIR", str(TEMPORARY[0]), "--chdir", os.path.realpath(cwd)]


def _private(view: View, box: TreeBox | None) -> Iterator[str]:
    """Temporary files and a home of the box's own."""
    for place in TEMPORARY:
        yield from ("--bind", str(box.temporary), str(place)) if box else ("--tmpfs", str(place))
    for place in HOMES:
        if place.is_dir():
            yield from ("--tmpfs", str(place))
    if view.home.is_dir():
        yield from ("--bind", str(box.home), str(view.home)) if box else ("--tmpfs", str(view.home))
    else:
        yield from ("--setenv", "HOME", str(TEMPORARY[0]))


def _covered(view: View) -> Iterable[Path]:
    """The programs that would not be seen otherwise."""
    covering = (view.home, *HOMES, *TEMPORARY, RUN, DEVICES)
    return (place for place in view.programs if any(place.is_relative_to(over) for over in covering))


def _cover(place: Path) -> list[str]:
    if place.is_dir():
        return ["--tmpfs", str(place)]
    return ["--ro-bind", os.devnull, str(place)] if place.exists() else []


def _of_tree(box: TreeBox) -> Iterator[str]:
    """The tree, and private copies of what git writes for it in place of the repository's own."""
    objects = str(box.place.common / "objects")
    yield from ("--tmpfs", str(box.place.own.parent))  # other trees are nobody's business
    yield from ("--bind", str(box.admin), str(box.place.own))
    yield from ("--ro-bind", objects, str(box.outer_objects))
    yield from ("--bind", str(box.objects), objects)
    yield from ("--bind", str(box.place.tree), str(box.place.tree))
    marker = str(box.place.tree / ".git")
    yield from ("--ro-bind", marker, marker)
