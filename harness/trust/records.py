"""What the person has seen of each repository, in a directory of their own, outside every repository."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from coordination.errors import TeamError
from coordination.own_files import OwnFileUnusable, own_directory, read_own, write_own
from harness.trust.repository_files import RepositoryFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMAT = 1


@dataclass(eq=False)
class NotTrusted(TeamError):
    """Files of the repository count that the person has not seen as they are now."""

    root: str
    files: str
    changed: bool
    command: str
    exit_code = 2

    def __str__(self) -> str:
        many = "," in self.files or " and " in self.files
        since = f"changed since you trusted {'them' if many else 'it'}"
        if not self.changed:
            since = f"{'were' if many else 'was'} never shown to you"
        return (
            f"{self.root}: {self.files} {since}, and may start programs, allow calls or instruct agents; "
            f"`{self.command}` shows what they do and asks for your word"
        )


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    root: str  # of the team, and the repository, so that people can tell records apart
    repository: str
    at: str
    digest: str
    files: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A team in a repository on this machine."""

    root: Path
    repository: Path

    @property
    def name(self) -> str:
        """Of its record; the same whatever links lead there."""
        where = f"{os.path.realpath(self.root)}\0{os.path.realpath(self.repository)}"
        return f"{hashlib.sha256(os.fsencode(where)).hexdigest()[:24]}.json"

    @property
    def command(self) -> str:
        """What the person types in order to look."""
        beside = os.path.realpath(self.root) != os.path.realpath(self.repository)
        return f"leadhand trust --team {self.root}" if beside else "leadhand trust"


class TrustRecords:
    """The records of this person on this machine."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or own_directory() / "trust"

    def seen(self, place: Place) -> RepositoryFiles | None:
        """The files as the person has seen them last; None where they never did. Raises OwnFileUnusable."""
        path = self._directory / place.name
        data = read_own(path)
        if data is None:
            return None
        try:
            record = msgspec.json.decode(data, type=_Record)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _unusable(path, "it is no record of leadhand") from error
        files = RepositoryFiles(texts=record.files)
        if record.format != FORMAT or record.digest != files.digest:
            raise _unusable(path, "it was changed, or another version wrote it")
        return files

    def check(self, files: RepositoryFiles, place: Place) -> None:
        """Raise NotTrusted unless the person has seen these files as they are; without files all is well."""
        if not files.texts:
            return
        seen = self.seen(place)
        if seen is None or seen.digest != files.digest:
            other = files.other_than(seen or RepositoryFiles(texts={}))
            raise NotTrusted(
                root=str(place.root), files=_few(other), changed=seen is not None, command=place.command
            )

    def keep(self, files: RepositoryFiles, place: Place, *, at: str) -> Path:
        """The person has seen these files; where that is noted. Raises StateUnwritable, OwnFileUnusable."""
        record = _Record(
            format=FORMAT,
            root=os.path.realpath(place.root),
            repository=os.path.realpath(place.repository),
            at=at,
            digest=files.digest,
            files=dict(files.texts),
        )
        path = self._directory / place.name
        write_own(path, msgspec.json.format(msgspec.json.encode(record)))
        return path


def _unusable(path: Path, why: str) -> OwnFileUnusable:
    remedy = "remove it, then look at the repository again with `leadhand trust`"
    return OwnFileUnusable(path=str(path), why=f"{why}; {remedy}")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
