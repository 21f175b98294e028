"""Files that others wrote: only regular ones, of a bounded size, and only below their directory."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordination.errors import TeamError, cause_of

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

FILE_BYTES = 1_000_000  # of a file for people or models; more is nothing to read or talk about


@dataclass(eq=False)
class FileUnusable(TeamError):
    """Something has the name, and it is nothing to read."""

    path: str
    why: str
    says = "{path}: {why}"


def read_regular(path: Path, *, within: Path | None = None, most: int = FILE_BYTES) -> bytes:
    """All of the file. Raises FileNotFoundError, and FileUnusable for a pipe, a device, a directory, a file
    longer than `most` bytes, and with `within` a link that leads out of that directory.
    """
    with _opened(path, within) as file:
        data = _up_to(file, most + 1)
    if len(data) > most:
        raise FileUnusable(path=str(path), why=f"it is longer than {most} bytes")
    return data


def digest_of_regular(path: Path, *, within: Path | None = None) -> str:
    """SHA-256 of a file of any length. Raises as `read_regular`."""
    with _opened(path, within) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _up_to(file: FileIO, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := file.read(most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _opened(path: Path, within: Path | None) -> FileIO:
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within.resolve()):
            raise FileUnusable(path=str(path), why=f"it leads out of {within}")
        return _regular(path, real)
    except FileNotFoundError:
        if path.is_symlink():
            raise FileUnusable(path=str(path), why="it is a link that leads nowhere") from None
        raise
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL byte
        cause = cause_of(error) if isinstance(error, OSError) else str(error)
        why = f"it cannot be read ({cause})"
        raise FileUnusable(path=str(path), why=why) from error


def _regular(path: Path, real: Path) -> FileIO:
    """The file, open; looked at before, since to open a device can do something, and after."""
    if stat.S_ISREG(real.stat().st_mode):
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb", buffering=0)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return file
        file.close()
    raise FileUnusable(path=str(path), why="it is no regular file")
