"""Conditions that a person or a model can act on, one class each."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import ClassVar, Self

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # of a file or disk that is written to


_WAYS_OUT = {
    **dict.fromkeys((errno.EACCES, errno.EPERM), "mend owner or mode"),
    **dict.fromkeys(NO_ROOM, "free some space"),
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EROFS: "choose a place that can be written to",
}


def cause_of(error: OSError) -> str:
    """What the system says of it, in words."""
    return error.strerror or "unknown"


def refusal_of(error: OSError) -> str | None:
    """The line for a person about a path that the system refuses; None for an error of another kind."""
    way_out = _WAYS_OUT.get(error.errno or 0)
    where = error.filename or ("a file of the team" if isinstance(error, PermissionError) else None)
    return f"cannot use {where} ({cause_of(error)}); {way_out}" if way_out and where else None


@dataclass(eq=False)
class TeamError(Exception):
    """Root of all: the text is one line that says what is wrong and what to do next."""

    says: ClassVar[str] = "something went wrong"

    def __str__(self) -> str:
        return self.says.format(**vars(self))

    @property
    def reason(self) -> str:
        """The condition as a code, for results, events and tests: `UnknownTask` is `unknown_task`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()


def first_of(errors: BaseExceptionGroup[TeamError]) -> TeamError:
    """The one that is told of several that came at once."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, TeamError)
    return found


@dataclass(eq=False)
class UsageError(TeamError):
    """The person asked for something that cannot be done as asked; the text is ready to print."""

    detail: str
    says = "{detail}"


@dataclass(eq=False)
class StateUnusable(TeamError):
    """The system refuses a state file."""

    path: str
    cause: str

    @classmethod
    def of(cls, path: str, error: OSError) -> Self:
        """The one that says what the system said."""
        return cls(path=path, cause=cause_of(error))


@dataclass(eq=False)
class StateUnreadable(StateUnusable):
    """A state file could not be read for the whole of the patience."""

    says = "cannot read {path} ({cause}); check the disk or mount of the team directory, then try again"


@dataclass(eq=False)
class NotRegularFile(TeamError):
    """A state path holds something that is no regular file: a link, a pipe, a directory."""

    path: str
    says = "{path} is not a regular file; move it away"


@dataclass(eq=False)
class StateUnwritable(StateUnusable):
    """A state file could not be written; nothing was changed."""

    says = "cannot write {path} ({cause}); free space or mend the permissions, then try again"


@dataclass(eq=False)
class NewerFormat(TeamError):
    """A state file was written by a version that this one does not understand."""

    path: str
    format: object
    version: object = None  # of leadhand, where the file names it

    def __str__(self) -> str:
        wanted = f"leadhand {self.version} or later" if self.version else "the version that wrote it"
        return f"{self.path} has format {self.format}, newer than this leadhand knows; install {wanted}"


@dataclass(eq=False)
class LinkInTheWay(TeamError):
    """A directory of the team is a link; what is written through it would lie elsewhere."""

    path: str
    says = "{path} is a link, and nothing is written through it; put the directory itself in its place"


@dataclass(eq=False)
class InvalidRecord(TeamError):
    """A record of a numbered log breaks the rules of its log and does not count."""

    why: str
    says = "the record does not count: {why}"


@dataclass(eq=False)
class RootLost(TeamError):
    """The team directory is not the one that was opened: unmounted, replaced or moved."""

    path: str
    says = "the team directory {path} is gone or was replaced; bring it back and start again"
