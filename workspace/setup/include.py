"""Copy into a tree the ignored files of the person's checkout that `.worktreeinclude` names."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from coordination import layout
from coordination.child import CREDENTIALS
from coordination.errors import TeamError, cause_of
from coordination.json_form import scrub

if TYPE_CHECKING:
    from workspace.git import Git

INCLUDE_FILE = ".worktreeinclude"
_DOTENV = ".env"


@dataclass(eq=False)
class CannotInclude(TeamError):
    """A file that `.worktreeinclude` names cannot be copied."""

    path: str
    cause: str
    says = "cannot copy {path} into the worktree ({cause}); mend the file, or take it out of .worktreeinclude"


def included(main: Git) -> tuple[str, ...]:
    """The files of the person's checkout to copy: named by the patterns, ignored by git, not the team's.

    Git itself matches the patterns, so they mean what they mean in a `.gitignore`.
    """
    patterns = main.place.tree / INCLUDE_FILE
    if not patterns.is_file() or not patterns.resolve().is_relative_to(main.place.tree.resolve()):
        return ()
    named = _names(main.run("ls-files", "--others", "--ignored", f"--exclude-from={patterns}", "-z"))
    foreign = [name for name in named if PurePosixPath(name).parts[0] not in layout.TOP_LEVEL]
    if not foreign:
        return ()
    ignored = set(_names(main.run("ls-files", "--others", "--ignored", "--exclude-standard", "-z")))
    return tuple(name for name in foreign if name in ignored)


def _names(listing: str) -> list[str]:
    return [name for name in listing.split("\0") if name]


def copy_included(main: Git, tree: Path, *, refresh: bool) -> tuple[str, ...]:
    """The files lie in the tree too, unless it holds that name already; their names.

    `refresh` writes over older copies, in a tree where nobody works. Raises CannotInclude.
    """
    for name in (names := included(main)):
        target = tree / name
        is_led_out = not target.parent.resolve().is_relative_to(
            tree.resolve()
        )  # by a link that a commit holds
        if is_led_out or target.is_symlink() or (target.exists() and not refresh):
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy(main.place.tree / name, target)
        except OSError as error:
            raise CannotInclude(path=scrub(name), cause=cause_of(error)) from error
    return names


def is_copy(main: Git, tree: Path, name: str) -> bool:
    """True when the file, link or directory in the tree holds nothing that the person's checkout does not."""
    here, source = tree / name, main.place.tree / name
    try:
        if here.is_symlink() or source.is_symlink():
            return here.readlink() == source.readlink()
        if here.is_dir():
            return all(is_copy(main, tree, str(inner.relative_to(tree))) for inner in here.iterdir())
        return here.read_bytes() == _contents(source)
    except OSError:
        return False


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    shutil.copy2(source, target)
    if source.name.startswith(_DOTENV):
        target.write_bytes(_contents(source))


def _contents(source: Path) -> bytes:
    """What goes into the tree: all but the model's credentials, which no command of an agent may see."""
    data = source.read_bytes()
    if not source.name.startswith(_DOTENV):
        return data
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if not _names_credential(line))


def _names_credential(line: bytes) -> bool:
    name = line.partition(b"=")[0].strip().removeprefix(b"export ").strip()
    return name.decode("utf-8", "replace") in CREDENTIALS
