"""Files of the person's own, outside every repository: nobody else may read or write them."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import platformdirs

from coordination.errors import StateUnwritable, TeamError, cause_of

if TYPE_CHECKING:
    from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(eq=False)
class OwnFileUnusable(TeamError):
    """A file of the person's own is not theirs alone, or cannot be read."""

    path: str
    why: str
    exit_code = 2
    says = "{path}: {why}"


def own_directory() -> Path:
    """Where they lie: keys, answers, trust, settings."""
    return platformdirs.user_config_path("leadhand")


def read_own(path: Path) -> bytes | None:
    """What the file holds; None without it. Raises OwnFileUnusable where others could have written it."""
    try:
        _refuse_foreign(path.parent)
        _refuse_foreign(path)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OwnFileUnusable(path=str(path), why=_why(error)) from error


def write_own(path: Path, data: bytes, *, replace: bool = True) -> bool:
    """The file holds this, on disk, mode 0600; False where one is there that is not to be replaced.

    Raises StateUnwritable, OwnFileUnusable.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _refuse_foreign(path.parent)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fsync(file.fileno())
        return _put(temporary, path, replace=replace)
    except OSError as error:
        raise StateUnwritable.of(str(path), error) from error


def _put(temporary: Path, path: Path, *, replace: bool) -> bool:
    if replace:
        temporary.replace(path)
        return True
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True


def _refuse_foreign(path: Path) -> None:
    facts = path.stat()
    if facts.st_uid != os.getuid():
        raise OwnFileUnusable(
            path=str(path), why=f"it belongs to user {facts.st_uid}, not to you; move it away"
        )
    if facts.st_mode & OTHERS_WRITE:
        raise OwnFileUnusable(path=str(path), why=f"others may write it; `chmod go-w {path}` mends that")


def _why(error: OSError) -> str:
    return f"it cannot be read ({cause_of(error)}); mend it or move it away"
