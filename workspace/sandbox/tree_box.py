"""What belongs to one tree alone: a copy of git's files for it, a store for new objects, home and temp."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workspace.git_directory import MAIN_HEAD
from workspace.verification_tree import remove_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.git_directory import GitDirectory

NAME = "leadhand-box"  # beside HEAD and index of the tree, so that it goes when git forgets the tree
_OUTER = "outer-objects"  # where the repository's objects are seen inside
_SUBMODULES = "modules"  # repositories that git keeps for the tree, and that only the copy has
_OURS = (NAME, "leadhand-setup", "locked")
_ALTERNATES = "info/alternates"


class TreeBox:
    """The box of one linked worktree; it belongs to one process at a time, as its tree does."""

    def __init__(self, place: GitDirectory) -> None:
        self.place = place
        self.directory = place.own / NAME
        self.admin = self.directory / "admin"
        self.objects = self.directory / "objects"
        self.home = self.directory / "home"
        self.temporary = self.directory / "tmp"
        self.outer_objects = place.own / _OUTER
        self._base = self.directory / "base"

    @property
    def base(self) -> str | None:
        """What HEAD of the tree said when the copy was made; None without a box."""
        try:
            return self._base.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    @property
    def real_head(self) -> str:
        """What HEAD of the tree says now, which only the host changes. Raises OSError."""
        return (self.place.own / MAIN_HEAD).read_text(encoding="utf-8").strip()

    def is_untouched(self) -> bool:
        """True when nothing was committed or staged inside since the copy was made."""
        names = (MAIN_HEAD, "index")
        return all(_is_same(self.admin / name, self.place.own / name) for name in names)

    def make_ready(self, git_config: Mapping[str, str]) -> None:
        """The box fits the tree as the host has it now; what it held of an older head is gone.

        `git_config` are the settings of git that commands find in their home. Raises OSError.
        """
        if self.base == self.real_head and self.objects.is_dir():
            return
        for directory in (self.home, self.temporary):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write_config(git_config)
        self._base.unlink(missing_ok=True)  # a crash from here on makes the box anew
        self._copy_admin()
        self._empty_objects()
        self.took_over(self.real_head)

    def took_over(self, head: str) -> None:
        """What was new inside is the repository's now, and the tree stands at `head`."""
        self._base.write_text(head, encoding="utf-8")

    def _write_config(self, git_config: Mapping[str, str]) -> None:
        text = "".join(
            f"[{key.partition('.')[0]}]\n\t{_line(key, value)}\n" for key, value in git_config.items()
        )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # never through a link from inside
        with suppress(FileExistsError):  # of the last copy, or of a command inside, whose business it is
            descriptor = os.open(self.home / ".gitconfig", flags, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)

    def _copy_admin(self) -> None:
        new = self.directory / "admin.new"
        remove_directory(new)
        shutil.copytree(self.place.own, new, symlinks=True, ignore=_left_out)
        (new / _OUTER).mkdir(exist_ok=True)
        if (self.admin / _SUBMODULES).is_dir() and not (new / _SUBMODULES).exists():
            (self.admin / _SUBMODULES).rename(new / _SUBMODULES)
        _replace(self.admin, new)

    def _empty_objects(self) -> None:
        new = self.directory / "objects.new"
        remove_directory(new)
        (new / "info").mkdir(parents=True)
        (new / "pack").mkdir()
        (new / _ALTERNATES).write_text("\n".join([str(self.outer_objects), *self._further()]) + "\n", "utf-8")
        _replace(self.objects, new)

    def _further(self) -> list[str]:
        """The stores that the repository itself borrows objects from."""
        store = self.place.common / "objects"
        try:
            lines = (store / _ALTERNATES).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [str((store / line).resolve()) for line in lines if line and not line.startswith("#")]


def _line(key: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'{key.partition(".")[2]} = "{escaped}"'


def _left_out(directory: str, names: list[str]) -> list[str]:
    """What is ours or only of this moment, and what is neither file nor directory."""
    return [name for name in names if _is_left_out(name, Path(directory, name).lstat().st_mode)]


def _is_left_out(name: str, mode: int) -> bool:
    return name in _OURS or name.endswith(".lock") or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _replace(old: Path, new: Path) -> None:
    """`new` is in the place of `old`; whoever still uses the old one keeps it open."""
    going = old.with_name(f"{old.name}.old")
    remove_directory(going)
    if old.exists():
        old.rename(going)
    new.rename(old)
    remove_directory(going)


def _is_same(inside: Path, outside: Path) -> bool:
    """Whether both are files with the same content, whatever a command put in the place of the first."""
    try:
        first = os.open(inside, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return not inside.is_symlink() and not inside.exists() and not outside.exists()
    with os.fdopen(first, "rb") as one:
        found = os.fstat(first)
        if (
            not stat.S_ISREG(found.st_mode)
            or not outside.is_file()
            or found.st_size != outside.stat().st_size
        ):
            return False
        return one.read(found.st_size) == outside.read_bytes()
