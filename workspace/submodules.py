"""Submodules in a tree of a task: what git would silently leave behind there."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from coordination.json_form import scrub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.git import Git

REPOSITORY = "160000"  # the mode of an entry


@dataclass(eq=False)
class SubmoduleEmpty(TeamError):
    """Files were written where a submodule belongs that is not there, and no commit would hold them."""

    path: str
    says = (
        "{path} is a submodule that is not set up in this tree, so no commit would hold the files in it; "
        "put `git submodule update --init` into worktrees.setup, or move them elsewhere"
    )


def refuse_lost_files(here: Git) -> None:
    """Raises SubmoduleEmpty."""
    for path in with_lost_files(here):
        raise SubmoduleEmpty(path=path)


def with_lost_files(here: Git) -> Iterator[str]:
    """The submodules that are not set up and yet hold files, which git lists nowhere."""
    for path in submodules(here):
        place = here.place.tree / path
        if place.is_dir() and any(place.iterdir()) and not (place / ".git").exists():
            yield scrub(path)


@contextmanager
def unasked(here: Git) -> Iterator[None]:
    """Git starts no git inside the tree, under settings of that; then the commits there are staged."""
    listing = os.fsencode("".join(f"{path}\0" for path in submodules(here)))

    def update(*options: str) -> None:
        if listing:
            here.run("update-index", "-z", *options, "--stdin", given=listing)

    update("--skip-worktree")
    try:
        yield
    finally:
        update("--no-skip-worktree")
    update("--remove")


def submodules(here: Git) -> Iterator[str]:
    """The paths at which the tree has another repository, as git writes them."""
    for entry in here.run("ls-files", "--stage", "-z").split("\0"):
        head, _, path = entry.partition("\t")
        if head.startswith(REPOSITORY):
            yield path
