"""Where a path of a tool call really leads, and whether file tools may go there."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from harness.permissions.protected import GIT, SECRETS, TEAM_STATE, is_protected, is_secret, is_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

    from harness.tool import ToolContext

_STEP = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEVER_SEARCHED = (GIT, *(f"/{name}" for name in sorted(TEAM_STATE)), *SECRETS)  # as gitignore patterns


@dataclass(eq=False)
class OutsideWorkingDirectory(TeamError):
    """The path leads out of the working directory, itself or through a link."""

    path: str
    cwd: str
    says = (
        "{path} is outside the working directory {cwd}; "
        "name a file inside it, by a path relative to it such as src/app.py"
    )


@dataclass(eq=False)
class ProtectedPath(TeamError):
    """The path belongs to git, to the team's state or to its policy."""

    path: str
    says = "{path} is protected: file tools stay out of git's and the team's own files; work in other files"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A path after every link was followed."""

    path: Path  # absolute
    top: Path  # it lies below this
    shown: str  # relative to the working directory, as results name it

    @contextmanager
    def parent(self, *, make: bool = False) -> Iterator[int]:
        """A descriptor of its directory, reached name by name and never through a link.

        So a link that a command puts there after the path was judged leads nowhere: file tools belong to the
        host, and act outside the sandbox. Raises OSError.
        """
        here = os.open(self.top, _STEP)
        try:
            for name in self.path.relative_to(self.top).parts[:-1]:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=here)
                below = os.open(name, _STEP, dir_fd=here)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)

    @contextmanager
    def opened(self) -> Iterator[BufferedReader]:
        """The file itself, to read. Raises OSError."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self.parent() as parent:
            descriptor = os.open(self.path.name, flags, dir_fd=parent)
        with os.fdopen(descriptor, "rb") as file:
            yield file


def readable(context: ToolContext, path: str) -> Place:
    """Where `path` leads, for reading; the outputs of the agent's own calls may be read too.

    So may those of the processes of its name before it, whose conversation it may go on with.
    Raises OutsideWorkingDirectory, ProtectedPath, NoWorkingDirectory.
    """
    cwd = context.cwd().resolve()
    real = _real(cwd, path)
    if _is_output(real, context.outputs.directory.resolve()):
        return Place(path=real, top=real.parent, shown=str(real))
    return _inside(cwd, path, real, is_closed=is_state)


def writable(context: ToolContext, path: str) -> Place:
    """Where `path` leads, for writing. Raises as `readable`."""
    cwd = context.cwd().resolve()
    return _inside(cwd, path, _real(cwd, path), is_closed=is_protected)


def as_inside(cwd: Path, pattern: str) -> str:
    """A glob pattern relative to the working directory. Raises OutsideWorkingDirectory."""
    inside = pattern.removeprefix(f"{cwd}/").removeprefix("./")
    if inside.startswith(("/", "~")) or ".." in PurePosixPath(inside).parts:
        raise OutsideWorkingDirectory(path=pattern, cwd=str(cwd))
    return inside


def is_hidden(relative: str) -> bool:
    """True for what glob and grep pass over, seen from the working directory: team state, secrets."""
    return is_state(relative) or is_secret(relative)


def _is_output(real: Path, own: Path) -> bool:
    """True below the directory `own`, and below those of its siblings that differ only behind a `~`."""
    if not real.is_relative_to(own.parent):
        return False
    process, *below = real.relative_to(own.parent).parts or ("",)
    return bool(below) and process.partition("~")[0] == own.name.partition("~")[0]


def _real(cwd: Path, path: str) -> Path:
    try:
        return (cwd / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL byte
        raise OutsideWorkingDirectory(path=path, cwd=str(cwd)) from error


def _inside(cwd: Path, path: str, real: Path, *, is_closed: Callable[[str], bool]) -> Place:
    if not real.is_relative_to(cwd):
        raise OutsideWorkingDirectory(path=path, cwd=str(cwd))
    relative = real.relative_to(cwd).as_posix()
    if is_closed(relative):
        raise ProtectedPath(path=relative)
    return Place(path=real, top=cwd, shown=relative)
